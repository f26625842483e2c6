"""Drives `haft mcp` with the Python SDK: lists, calls, approves, reads what was cut. Prints what came of it as JSON.

Arguments: the mode of the connection, then `--url URL TOKEN`, or the command of the server.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

questions = []
progress = []


async def approve(_context, params):
    questions.append(params.message)
    return ElicitResult(action="accept", content={"decision": "allow once"})


async def note(done, total, message):
    progress.append(done)


def texts(result):
    return [block.text for block in result.content if block.type == "text"]


async def drive(client):
    tools = await client.list_tools()
    read = await client.call_tool("read_file", {"path": "hello.txt"})
    written = await client.call_tool("write_file", {"path": "new.txt", "content": "by python"})
    missing = await client.call_tool("read_file", {"path": "missing.txt"})
    report = await client.call_tool("system_info", {})
    large = await client.call_tool("exec", {"command": "seq 1 60000"}, progress_callback=note)
    links = [block.uri for block in large.content if block.type == "resource_link"]
    page = await client.read_resource(str(links[0])) if links else None
    prompts = await client.list_prompts()
    return {
        "version": client.protocol_version,
        "tools": [tool.name for tool in tools.tools],
        "read_only": [tool.name for tool in tools.tools if tool.annotations.read_only_hint],
        "read": texts(read),
        "written": [written.is_error, texts(written)],
        "missing": [missing.is_error, texts(missing)],
        "structured": sorted(report.structured_content or {}),
        "page": page.contents[0].text[:6] if page else None,
        "prompts": [prompt.name for prompt in prompts.prompts],
        "questions": questions,
    }


async def main(mode, words):
    if words[0] == "--url":
        http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {words[2]}"})
        server = streamable_http_client(words[1], http_client=http)
    else:
        server = StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))
    async with Client(server, mode=mode, elicitation_callback=approve) as client:
        print(json.dumps(await drive(client)))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
