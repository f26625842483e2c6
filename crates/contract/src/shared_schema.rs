//! A schema that definitions share: that of a type is made once in a process, when it is first looked at.

use std::any::TypeId;
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::schema::{self, Normalised, SchemaFault};
use crate::{Form, ParameterHints};

/// The schemas of types by their type. As many as the program has types of parameters, so none is ever removed.
static OF_TYPES: LazyLock<Mutex<HashMap<TypeId, SharedSchema>>> = LazyLock::new(Mutex::default);

/// As many offers are kept of one schema: a tool has a form for each dialect at most.
const MAX_OFFERS: usize = 4;

/// A flat JSON Schema object, and how its parameters are read beyond it. Clones share it until one of them is changed.
///
/// ```
/// use haft_contract::SharedSchema;
/// use serde_json::json;
///
/// let one = SharedSchema::from(json!({"type": "object", "properties": {}}));
/// let mut other = one.clone();
/// other["properties"]["path"] = json!({"type": "string"});
/// assert_eq!(one, json!({"type": "object", "properties": {}}));
/// ```
#[derive(Clone)]
pub struct SharedSchema(Arc<SchemaCell>);

struct SchemaCell {
    /// Makes the schema of a type; absent where it was written by hand, or changed.
    make: Option<fn() -> Normalised>,
    /// That of a type, with what lint refuses in it.
    made: OnceLock<(Normalised, Vec<SchemaFault>)>,
    /// That of no type.
    written: Normalised,
    /// What requests have of it, by form.
    offers: Mutex<Vec<(Option<Form>, Arc<Value>)>>,
}

impl SharedSchema {
    /// The schema of a type.
    pub fn for_type<T: JsonSchema + 'static>() -> Self {
        let mut known = OF_TYPES.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(TypeId::of::<T>()).or_insert_with(|| Self(Arc::new(SchemaCell::new(Some(schema::for_type::<T>), nothing())))).clone()
    }

    /// How the parameters are read.
    pub fn hints(&self) -> &ParameterHints {
        &self.0.normalised().hints
    }

    /// How the parameters are read, to change it.
    pub fn hints_mut(&mut self) -> &mut ParameterHints {
        &mut self.change().hints
    }

    /// Whether it is that of a type, unchanged: such a schema is made when it is first looked at.
    pub fn is_of_type(&self) -> bool {
        self.0.make.is_some()
    }

    /// What [`schema::lint`] refuses in it. Markers that lint takes out are out of it then.
    pub fn lint(&mut self) -> Result<(), Vec<SchemaFault>> {
        match self.0.make {
            Some(make) => Some(&self.0.get_or_make(make).1).filter(|faults| !faults.is_empty()).cloned().map_or(Ok(()), Err),
            None => schema::lint(&mut self.change().schema),
        }
    }

    /// What requests have of it in a form: made once, and shared by all that show it.
    pub(crate) fn offer(&self, form: Option<&Form>, make: impl FnOnce() -> Value) -> Arc<Value> {
        let mut offers = self.0.offers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, offer)) = offers.iter().find(|(known, _)| known.as_ref() == form) {
            return Arc::clone(offer);
        }
        let offer = Arc::new(make());
        if offers.len() < MAX_OFFERS {
            offers.push((form.copied(), Arc::clone(&offer)));
        }
        offer
    }

    /// Its own copy, to be changed. That of a type is made again, because its markers are still in it then.
    fn change(&mut self) -> &mut Normalised {
        let cell = Arc::make_mut(&mut self.0);
        if let Some(make) = cell.make.take() {
            cell.written = make();
        }
        cell.offers.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        &mut cell.written
    }
}

impl SchemaCell {
    fn new(make: Option<fn() -> Normalised>, written: Normalised) -> Self {
        Self { make, made: OnceLock::new(), written, offers: Mutex::default() }
    }

    fn normalised(&self) -> &Normalised {
        self.make.map_or(&self.written, |make| &self.get_or_make(make).0)
    }

    fn get_or_make(&self, make: fn() -> Normalised) -> &(Normalised, Vec<SchemaFault>) {
        self.made.get_or_init(|| {
            let mut normalised = make();
            let faults = schema::lint(&mut normalised.schema).err().unwrap_or_default();
            (normalised, faults)
        })
    }
}

impl Clone for SchemaCell {
    /// What can be made again is not copied.
    fn clone(&self) -> Self {
        Self::new(self.make, self.written.clone())
    }
}

fn nothing() -> Normalised {
    Normalised { schema: Value::Null, hints: ParameterHints::default() }
}

impl Deref for SharedSchema {
    type Target = Value;
    fn deref(&self) -> &Value {
        &self.0.normalised().schema
    }
}

impl DerefMut for SharedSchema {
    fn deref_mut(&mut self) -> &mut Value {
        &mut self.change().schema
    }
}

impl From<Normalised> for SharedSchema {
    fn from(normalised: Normalised) -> Self {
        Self(Arc::new(SchemaCell::new(None, normalised)))
    }
}

impl From<Value> for SharedSchema {
    /// As it is: without hints, and not normalised.
    fn from(schema: Value) -> Self {
        Self::from(Normalised { schema, ..nothing() })
    }
}

impl PartialEq for SharedSchema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.normalised() == other.0.normalised()
    }
}

impl PartialEq<Value> for SharedSchema {
    fn eq(&self, other: &Value) -> bool {
        **self == *other
    }
}

impl fmt::Debug for SharedSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for SharedSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Serialize for SharedSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Formatted {
        #[schemars(extend("x-reserved-name" = true, "x-aliases" = ["form"]))]
        format: String,
    }

    /// A type that counts how often its schema is made.
    struct Counted;
    static MADE: AtomicUsize = AtomicUsize::new(0);

    impl JsonSchema for Counted {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Counted".into()
        }
        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            MADE.fetch_add(1, Ordering::Relaxed);
            schemars::json_schema!({"type": "object", "properties": {}})
        }
    }

    #[test]
    fn schema_of_a_type_is_made_once_and_when_it_is_looked_at() {
        let (one, other) = (SharedSchema::for_type::<Counted>(), SharedSchema::for_type::<Counted>());
        assert_eq!(MADE.load(Ordering::Relaxed), 0);
        assert_eq!(one, json!({"type": "object", "properties": {}}));
        assert!(std::ptr::eq(&raw const *one, &raw const *other));
        assert_eq!(MADE.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn change_is_seen_by_the_changed_one_alone() {
        let mut changed = SharedSchema::for_type::<Formatted>();
        changed["properties"]["path"] = json!({"type": "string"});
        changed.hints_mut().rare.push("path".into());
        let untouched = SharedSchema::for_type::<Formatted>();
        assert!(untouched.get("properties").unwrap().get("path").is_none());
        assert!(untouched.hints().rare.is_empty() && untouched.is_of_type() && !changed.is_of_type());
        let copy = changed.clone();
        changed["properties"]["path"] = json!({"type": "integer"});
        assert_eq!(copy["properties"]["path"]["type"], "string");
    }

    #[test]
    fn marked_name_stays_accepted_after_a_change() {
        let mut schema = SharedSchema::for_type::<Formatted>();
        assert_eq!(schema.lint(), Ok(()));
        assert_eq!(schema["properties"]["format"], json!({"type": "string"}));
        schema["properties"]["path"] = json!({"type": "string"});
        assert_eq!(schema.lint(), Ok(()));
        assert_eq!(schema["properties"]["format"], json!({"type": "string"}));
        schema["properties"]["other"] = json!({"anyOf": []});
        schema["properties"]["format"]["x-reserved-name"] = json!(true);
        assert_eq!(schema.lint().unwrap_err()[0].path, "parameters.properties.other");
    }

    #[test]
    fn offer_is_made_once_for_each_form_and_again_after_a_change() {
        let mut schema = SharedSchema::from(json!({"type": "object"}));
        let form = Form::new(crate::Dialect::Claw, "bash");
        let first = schema.offer(Some(&form), || json!(1));
        assert!(Arc::ptr_eq(&first, &schema.clone().offer(Some(&form), || json!(2))));
        assert_eq!(*schema.offer(None, || json!(3)), json!(3));
        schema["properties"] = json!({});
        assert_eq!(*schema.offer(Some(&form), || json!(4)), json!(4));
    }
}
