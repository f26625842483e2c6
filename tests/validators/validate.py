"""Validates request bodies against the message types of the official SDKs.

Reads one JSON object a line, {"protocol": ..., "source": ..., "body": ...}, and writes a verdict for each, also as JSON. Ends
with 1 if a body has a fault.

A validator that accepts everything is worse than none. So bodies with known faults come first, and each body is mutated at
every path: the validator has to reject the mutation, unless the SDK leaves the value free (FREE).
"""

import base64
import copy
import json
import re
import sys
import typing

import pydantic
import typing_extensions
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google.genai import models as google_models
from google.genai import types as google
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

from controls import CONTROLS, MISSING
from shapes import beneath, faults, is_scalar, short, standard


class GenerateContentBody(typing_extensions.TypedDict, total=False):
    """The body of streamGenerateContent; the SDK has types for its parts, and puts them together in code."""

    contents: typing_extensions.Required[list[google.Content]]
    systemInstruction: google.Content
    tools: list[google.Tool]
    toolConfig: google.ToolConfig
    generationConfig: google.GenerationConfig


BODIES = {
    "openai": CompletionCreateParamsStreaming,
    "openai-responses": ResponseCreateParamsStreaming,
    "anthropic": MessageCreateParamsStreaming,
    "gemini": GenerateContentBody,
}

# What is sent on purpose although the SDK has no type for it, with its type.
EXTENSIONS = {
    # Other servers that speak this protocol give their thoughts in this field and want them back; nobody else gets it.
    ("openai", "messages[].reasoning_content"): str,
}

# Places that the SDKs leave free: schemas, arguments and results.
FREE = {
    "openai": r"tools\[\]\.function\.parameters\..*",
    "openai-responses": r"tools\[\]\.parameters\..*",
    "anthropic": r"tools\[\]\.input_schema\..*|messages\[\]\.content\[\]\.input\..*",
    "gemini": r"tools\[\]\.functionDeclarations\[\]\.parametersJsonSchema\b.*"
    r"|tools\[\]\.functionDeclarations\[\]\.parameters\b.*\.(default|example)\b.*"
    r"|contents\[\]\.parts\[\]\.(functionCall\.args|functionResponse\.response)\..*",
}


def validate(protocol, body):
    """The faults of a body, without what is sent on purpose."""
    found = [fault for fault in faults(BODIES[protocol], body) if not is_extension(protocol, body, fault[0])]
    words = [f"{place or 'the body'} {words}" for place, words in found]
    return words or (resending(body) if protocol == "gemini" else [])


def is_extension(protocol, body, place):
    kind = EXTENSIONS.get((protocol, place))
    return kind is not None and all(is_scalar(kind, value) for value in values_at(body, place.split(".")))


def values_at(value, steps):
    if not steps:
        return [value]
    inner = value.get(steps[0].removesuffix("[]"), MISSING)
    items = [] if inner is MISSING else inner if steps[0].endswith("[]") else [inner]
    return [found for item in items for found in values_at(item, steps[1:])]


def resending(body):
    """How what Google's SDK sends for the same values differs from the body."""
    try:
        sent = resent(body)
    except ValueError as error:
        return [f"the SDK does not send this: {error}"]
    return [] if sent == plain(body) else [f"the SDK sends another body: {json.dumps(sent)}"]


def resent(body):
    outside = {key: body[key] for key in ("systemInstruction", "tools", "toolConfig") if key in body}
    parameters = google._GenerateContentParameters(
        contents=[google.Content.model_validate_json(json.dumps(content)) for content in body["contents"]],
        config=google.GenerateContentConfig.model_validate_json(json.dumps({**body.get("generationConfig", {}), **outside})),
    )
    return plain(google_models._GenerateContentParameters_to_mldev(None, parameters))


def plain(value, key=""):
    """JSON, with bytes in one alphabet."""
    if isinstance(value, pydantic.BaseModel):
        return plain(value.model_dump(by_alias=True, exclude_none=True))
    if isinstance(value, dict):
        return {key: plain(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return standard(value) if key == "thoughtSignature" else getattr(value, "value", value)


def overlooked_controls():
    """Wrong answers of the validator on the control bodies."""
    for protocol, (body, edits) in CONTROLS.items():
        if found := validate(protocol, body):
            yield f"{protocol}: a good body is refused: {found}"
        for path, value in edits:
            changed = copy.deepcopy(body)
            holder = changed
            for step in path[:-1]:
                holder = holder[step]
            if value is MISSING:
                del holder[path[-1]]
            else:
                holder[path[-1]] = value
            if not validate(protocol, changed):
                yield f"{protocol}: {path} is overlooked as {'nothing' if value is MISSING else short(value)}"


def places(value, place="", around=()):
    """Every value in a body: what it is in, its key there, its place, and what kinds of things are around it."""
    if isinstance(value, dict):
        around = (*around, *(word for word in (value.get("role"), value.get("type")) if isinstance(word, str)))
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        below = f"{place}[]" if isinstance(value, list) else beneath(place, key)
        yield value, key, below, (below, around, type(item))
        yield from places(item, below, around)


def broken(value):
    """The same, as no type has it."""
    yield from ({"haft_unknown": 1}, [[]])
    if not isinstance(value, (int, float)):
        yield 1.5
    if isinstance(value, dict):
        yield {**value, "haft_unknown": 1}


def overlooked(protocol, body, tried):
    """Mutations that the validator accepts, at paths that were not tried yet."""
    body, free = copy.deepcopy(body), re.compile(FREE[protocol])
    if not validate(protocol, {**body, "haft_unknown": 1}):
        yield "haft_unknown"
    for holder, key, place, kind in list(places(body)):
        original = holder[key]
        for value in () if (protocol, kind) in tried else broken(original):
            if free.fullmatch(f"{place}.haft_unknown" if isinstance(value, dict) else place):
                continue
            holder[key] = value
            tried.add((protocol, kind))
            if not validate(protocol, body):
                yield f"{place} as {short(value)}"
        holder[key] = original


def verdict(entry, tried):
    protocol, body = entry["protocol"], entry["body"]
    found = validate(protocol, body) or [f"the validator misses {place}" for place in overlooked(protocol, body, tried)]
    return {"protocol": protocol, "source": entry["source"], "faults": found}


def main():
    if blind := list(overlooked_controls()):
        sys.exit("\n".join(["the validator cannot be trusted:", *blind]))
    tried: set[typing.Any] = set()
    failed = False
    for line in sys.stdin:
        report = verdict(json.loads(line), tried)
        print(json.dumps(report))
        failed |= bool(report["faults"])
    if failed:
        sys.exit(1)
    print(f"every body is valid; {len(tried)} kinds of mutations were all rejected", file=sys.stderr)


if __name__ == "__main__":
    main()
