"""A plugin: one call on standard input, one answer on standard output."""

import collections
import csv
import json
import re
import sys


def word_count(arguments):
    with open(arguments["path"], encoding="utf-8") as file:
        text = file.read()
    return {"words": len(text.split()), "lines": len(text.splitlines()), "characters": len(text)}


def word_frequencies(arguments):
    counts = collections.Counter()
    with open(arguments["path"], encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            counts.update(re.findall(r"\w+", line.lower()))
            if number % 10_000 == 0:
                # A line like this on standard error is shown as progress.
                print(json.dumps({"progress": f"{number} lines"}), file=sys.stderr, flush=True)
    rows = counts.most_common(arguments.get("limit", 100))
    with open(arguments["target"], "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("word", "count"), *rows])
    return f"Wrote {len(rows)} words to {arguments['target']}."


TOOLS = {"word_count": word_count, "word_frequencies": word_frequencies}


def main():
    call = json.load(sys.stdin)
    try:
        answer = {"result": TOOLS[call["tool"]](call["arguments"])}
    except (OSError, UnicodeDecodeError) as error:
        answer = {"error": f"{call['arguments']['path']} cannot be used: {error}"}
    json.dump(answer, sys.stdout)


main()
