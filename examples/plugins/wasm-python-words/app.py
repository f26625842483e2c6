"""A plugin as a WASM component, in Python: how often each word of a text occurs."""

# Counter imports heapq when it is needed first, and a component has no files then.
import heapq  # noqa: F401
import json
import re
from collections import Counter

import wit_world
from componentize_py_types import Err
from wit_world.imports import host


class WitWorld(wit_world.WitWorld):
    """The world `haft:plugin/plugin`: one function that answers every call."""

    def call(self, tool: str, arguments: str, context: str) -> str:
        asked = json.loads(arguments)
        # An error that Haft answers with goes back as the error of this call.
        text = host.read_file(asked["path"]).decode("utf-8", errors="replace")
        words = Counter(re.findall(r"\w+", text.lower()))
        if not words:
            raise Err("the file has no words")
        host.progress(f"{len(words)} different words")
        return "\n".join(f"{count} {word}" for word, count in words.most_common(asked.get("most", 10)))
