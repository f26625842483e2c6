"""Holds JSON against the types of an SDK, at every depth: an unknown key, a missing one, a value of another type is a fault."""

import base64
import binascii
import enum
import json
import types
import typing

import typing_extensions
from google.genai import types as google

# Google's SDK describes what is sent with models; the others take models of answers in place of what is sent: no JSON is one.
GOOGLE_MODEL = google.Content.__bases__[0]
REQUIRED = (typing_extensions.Required, typing_extensions.NotRequired)
UNIONS = (typing.Union, types.UnionType)
MAPS = (dict, typing.get_origin(typing.Mapping[str, str]))
LISTS = (list, *(typing.get_origin(kind[str]) for kind in (typing.Iterable, typing.Sequence)))

FIELDS = {}


def faults(kind, value, place=""):
    """What is wrong with a value of this type: pairs of a place, such as `messages[].role`, and words."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind in (object, typing.Any):
        return []
    if origin in (*REQUIRED, typing.Annotated):
        return faults(inner[0], value, place)
    if origin in UNIONS:
        return of_union(inner, value, place)
    if origin in LISTS and isinstance(value, list):
        return [fault for item in value for fault in faults(inner[0], item, f"{place}[]")]
    if origin in MAPS and isinstance(value, dict):
        return [fault for key, item in value.items() for fault in faults(inner[1], item, beneath(place, key))]
    if is_object(kind) and isinstance(value, dict):
        return of_object(kind, value, place)
    if origin is typing.Literal and any(type(value) is type(word) and value == word for word in inner):
        return []
    return [] if is_scalar(kind, value) else [(place, f"is {short(value)} and not {getattr(kind, '__name__', kind)}")]


def of_union(kinds, value, place):
    """Nothing, if one of the types fits; else the faults of the one that came furthest."""
    nearest = None
    for kind in [kind for kind in kinds if not is_named_otherwise(kind, value)] or kinds:
        found = faults(kind, value, place)
        if not found:
            return []
        if nearest is None or distance(found) < distance(nearest):
            nearest = found
    return nearest


def is_named_otherwise(kind, value):
    """Most objects say what they are; those that say something else are not meant."""
    if not is_object(kind) or not isinstance(value, dict):
        return False
    fields, _ = fields_of(kind)
    return any(key in fields and key in value and faults(fields[key][0], value[key]) for key in ("role", "type"))


def distance(found):
    return -max(len(place) for place, _ in found), len(found)


def of_object(kind, value, place):
    fields, takes_others = fields_of(kind)
    found = [(beneath(place, key), "is missing") for key, (_, required) in fields.items() if required and key not in value]
    for key, item in value.items():
        if key in fields:
            found += faults(fields[key][0], item, beneath(place, key))
        elif not takes_others:
            found.append((beneath(place, key), f"is no key of {kind.__name__}"))
    return found


def is_object(kind):
    return typing_extensions.is_typeddict(kind) or isinstance(kind, type) and issubclass(kind, GOOGLE_MODEL)


def fields_of(kind):
    """The keys on the wire with their types and whether they must be there, and whether there may be others."""
    if kind not in FIELDS:
        FIELDS[kind] = of_typed_dict(kind) if typing_extensions.is_typeddict(kind) else of_model(kind)
    return FIELDS[kind]


def of_model(kind):
    alias = kind.model_config["alias_generator"]
    fields = {field.alias or alias(name): (field.annotation, field.is_required()) for name, field in kind.model_fields.items()}
    return fields, kind.model_config.get("extra") != "forbid"


def of_typed_dict(kind):
    fields = {}
    for name, hint in typing_extensions.get_type_hints(kind, include_extras=True).items():
        # The SDKs write annotations as text, in which Python does not see `Required` when it fills `__required_keys__`.
        marked = typing.get_origin(hint)
        required = marked is typing_extensions.Required if marked in REQUIRED else name in kind.__required_keys__
        fields[wire_name(name, hint)] = (hint, required)
    return fields, getattr(kind, "__pydantic_config__", {}).get("extra") == "allow"


def wire_name(name, hint):
    """What is no name in Python has another one there, and its own in a note."""
    while typing.get_origin(hint) in REQUIRED:
        hint = typing.get_args(hint)[0]
    aliases = (getattr(note, "alias", None) for note in getattr(hint, "__metadata__", ()))
    return next(filter(None, aliases), name)


def is_scalar(kind, value):
    if kind in (int, float):
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    if kind is bytes:
        return isinstance(value, str) and is_base64(value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return value in [member.value for member in kind]
    # What else there is belongs to Python, such as an open file: no JSON is one.
    return kind in (str, bool, type(None)) and isinstance(value, kind)


def is_base64(text):
    try:
        base64.b64decode(standard(text), validate=True)
        return True
    except binascii.Error:
        return False


def standard(text):
    """Base64 has two alphabets, and JSON for Google may use either."""
    return text.translate({ord("-"): "+", ord("_"): "/"})


def beneath(place, key):
    return f"{place}.{key}" if place else key


def short(value):
    shown = json.dumps(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"
