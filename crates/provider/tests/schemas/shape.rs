//! Schemas of every kind that tools have, and inputs that they accept.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Text {
        bounded: bool,
        pattern: bool,
    },
    Whole {
        low: i64,
        high: i64,
        exclusive: bool,
    },
    Number,
    Flag,
    Literals(Vec<Value>),
    Constant(Value),
    Anything,
    List {
        items: Box<Shape>,
        bounded: bool,
    },
    BareList,
    Tuple {
        first: Box<Shape>,
        rest: Option<Box<Shape>>,
        closed: bool,
    },
    Record {
        fields: Vec<Field>,
        rest: Rest,
    },
    /// One of text, whole numbers and a list of flags: variants that never overlap.
    Choice {
        exactly_one: bool,
        note: bool,
    },
    Tagged {
        variants: Vec<(&'static str, Vec<Field>)>,
    },
    Nullable {
        inner: Box<Shape>,
        as_type: bool,
    },
    Both {
        left: Vec<Field>,
        right: Vec<Field>,
    },
    Named {
        inner: Box<Shape>,
        old: bool,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
}

/// `additionalProperties` of an object.
#[derive(Debug, Clone)]
pub(crate) enum Rest {
    Silent,
    Closed,
    Map(Box<Shape>),
    Pattern(Box<Shape>, bool),
}

fn literal() -> impl Strategy<Value = Value> {
    let values = [json!("a"), json!("b"), json!(""), json!(1), json!(2.5), json!(true), json!(null)];
    proptest::sample::select(values.to_vec())
}

fn leaf() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (any::<bool>(), any::<bool>()).prop_map(|(bounded, pattern)| Shape::Text { bounded, pattern }),
        (-5..5_i64, 2..9_i64, any::<bool>()).prop_map(|(low, more, exclusive)| Shape::Whole { low, high: low + more, exclusive }),
        Just(Shape::Number),
        Just(Shape::Flag),
        proptest::collection::vec(literal(), 1..4).prop_map(|mut values| {
            let mut unique = Vec::new();
            values.drain(..).for_each(|value| {
                if !unique.contains(&value) {
                    unique.push(value);
                }
            });
            Shape::Literals(unique)
        }),
        literal().prop_map(Shape::Constant),
        Just(Shape::Anything),
        Just(Shape::BareList),
        (any::<bool>(), any::<bool>()).prop_map(|(exactly_one, note)| Shape::Choice { exactly_one, note }),
    ]
}

fn fields(inner: impl Strategy<Value = Shape> + Clone) -> impl Strategy<Value = Vec<Field>> {
    let field = (proptest::sample::select(vec!["a", "b", "c", "type", "items"]), inner, any::<bool>());
    proptest::collection::vec(field, 0..4).prop_map(|fields| {
        let mut unique: Vec<Field> = Vec::new();
        for (name, shape, required) in fields {
            if unique.iter().all(|field| field.name != name) {
                unique.push(Field { name: name.into(), shape, required });
            }
        }
        unique
    })
}

fn rest(inner: impl Strategy<Value = Shape> + Clone) -> impl Strategy<Value = Rest> {
    prop_oneof![
        4 => Just(Rest::Silent),
        2 => Just(Rest::Closed),
        1 => inner.clone().prop_map(|shape| Rest::Map(Box::new(shape))),
        1 => (inner, any::<bool>()).prop_map(|(shape, closed)| Rest::Pattern(Box::new(shape), closed)),
    ]
}

fn shape() -> impl Strategy<Value = Shape> + Clone {
    leaf().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), any::<bool>()).prop_map(|(items, bounded)| Shape::List { items: Box::new(items), bounded }),
            (inner.clone(), proptest::option::of(inner.clone()), any::<bool>()).prop_map(|(first, rest, closed)| Shape::Tuple {
                first: Box::new(first),
                rest: rest.map(Box::new),
                closed
            }),
            (fields(inner.clone()), rest(inner.clone())).prop_map(|(fields, rest)| Shape::Record { fields, rest }),
            tagged(inner.clone()),
            (inner.clone(), any::<bool>()).prop_map(|(inner, as_type)| Shape::Nullable { inner: Box::new(inner), as_type }),
            (fields(inner.clone()), fields(inner.clone())).prop_map(|(left, right)| Shape::Both { left, right: apart(right) }),
            (inner, any::<bool>()).prop_map(|(inner, old)| Shape::Named { inner: Box::new(inner), old }),
        ]
    })
}

fn tagged(inner: impl Strategy<Value = Shape> + Clone) -> impl Strategy<Value = Shape> {
    (fields(inner.clone()), fields(inner)).prop_map(|(one, two)| Shape::Tagged { variants: vec![("one", one), ("two", two)] })
}

/// The second half of a whole speaks of other names.
fn apart(fields: Vec<Field>) -> Vec<Field> {
    fields.into_iter().map(|field| Field { name: format!("other_{}", field.name), ..field }).collect()
}

/// Parameters of a tool.
pub(crate) fn parameters() -> impl Strategy<Value = Shape> {
    let listed = fields(shape()).prop_filter("a tool with parameters", |fields| !fields.is_empty());
    prop_oneof![
        4 => (listed, rest(shape())).prop_map(|(fields, rest)| Shape::Record { fields, rest }),
        1 => tagged(shape()),
        1 => (fields(shape()), fields(shape())).prop_map(|(left, right)| Shape::Both { left, right: apart(right) }),
        1 => fields(shape()).prop_map(|fields| Shape::Named { inner: Box::new(Shape::Record { fields, rest: Rest::Silent }), old: false }),
    ]
}

impl Shape {
    pub(crate) fn root_schema(&self) -> Value {
        let mut named = Map::new();
        let mut schema = self.schema(&mut named);
        for (home, definitions) in named {
            schema[home] = definitions;
        }
        schema
    }

    fn schema(&self, named: &mut Map<String, Value>) -> Value {
        match self {
            Self::Text { bounded, pattern } => with(
                [
                    ("minLength", bounded.then(|| json!(1))),
                    ("maxLength", bounded.then(|| json!(8))),
                    ("pattern", pattern.then(|| json!("^[a-c]*$"))),
                    ("format", pattern.then(|| json!("uuid"))),
                ],
                json!({"type": "string", "description": "A text."}),
            ),
            Self::Whole { low, high, exclusive: false } => json!({"type": "integer", "minimum": low, "maximum": high}),
            Self::Whole { low, high, exclusive: true } => json!({"type": "integer", "exclusiveMinimum": low, "exclusiveMaximum": high}),
            Self::Number => json!({"type": "number", "multipleOf": 0.5}),
            Self::Flag => json!({"type": "boolean", "default": false}),
            Self::Literals(values) => json!({"enum": values, "title": "Literals"}),
            Self::Constant(value) => json!({"const": value}),
            Self::Anything => json!({}),
            Self::List { items, bounded } => {
                let bounds = [("minItems", bounded.then(|| json!(1))), ("maxItems", bounded.then(|| json!(3)))];
                with(bounds, json!({"type": "array", "items": items.schema(named)}))
            }
            Self::BareList => json!({"type": "array"}),
            Self::Tuple { first, rest, closed } => {
                let more = rest.as_ref().map(|rest| rest.schema(named)).or(closed.then(|| json!(false)));
                with([("items", more)], json!({"type": "array", "prefixItems": [first.schema(named)]}))
            }
            Self::Record { fields, rest } => record(fields, rest, named),
            Self::Choice { exactly_one, note } => {
                let variants = json!([{"type": "string"}, {"type": "integer"}, {"type": "array", "items": {"type": "boolean"}}]);
                let key = if *exactly_one { "oneOf" } else { "anyOf" };
                with([("description", note.then(|| json!("A choice.")))], json!({key: variants}))
            }
            Self::Tagged { variants } => {
                let variants: Vec<Value> =
                    variants.iter().map(|(tag, fields)| tag_field(record(fields, &Rest::Silent, named), tag)).collect();
                json!({"type": "object", "oneOf": variants})
            }
            Self::Nullable { inner, as_type } => nullable(inner.schema(named), *as_type),
            Self::Both { left, right } => {
                let right = record(right, &Rest::Silent, named);
                json!({"type": "object", "description": "Both.", "allOf": [record(left, &Rest::Silent, named), right]})
            }
            Self::Named { inner, old } => {
                let schema = inner.schema(named);
                let home = if *old { "definitions" } else { "$defs" };
                let definitions = named.entry(home).or_insert_with(|| json!({})).as_object_mut().unwrap();
                let name = format!("D{}", definitions.len());
                definitions.insert(name.clone(), schema);
                json!({"$ref": format!("#/{home}/{name}"), "description": "By name."})
            }
        }
    }
}

fn with<const N: usize>(keywords: [(&str, Option<Value>); N], mut schema: Value) -> Value {
    for (keyword, value) in keywords {
        if let Some(value) = value {
            schema[keyword] = value;
        }
    }
    schema
}

fn nullable(schema: Value, as_type: bool) -> Value {
    match schema.get("type").cloned() {
        Some(Value::String(name)) if as_type && schema.get("oneOf").is_none() && schema.get("allOf").is_none() => {
            with([("type", Some(json!([name, "null"])))], schema)
        }
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}

fn record(fields: &[Field], rest: &Rest, named: &mut Map<String, Value>) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|field| (field.name.clone(), field.shape.schema(named))).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name.as_str()).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    match rest {
        Rest::Silent => schema,
        Rest::Closed => with([("additionalProperties", Some(json!(false)))], schema),
        Rest::Map(shape) => with([("additionalProperties", Some(shape.schema(named)))], schema),
        Rest::Pattern(shape, closed) => {
            let patterns = json!({"^x_": shape.schema(named)});
            with([("patternProperties", Some(patterns)), ("additionalProperties", closed.then(|| json!(false)))], schema)
        }
    }
}

fn tag_field(mut schema: Value, tag: &str) -> Value {
    schema["properties"]["tag"] = json!({"const": tag});
    schema["required"].as_array_mut().unwrap().push(json!("tag"));
    schema
}
