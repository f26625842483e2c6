"""Bodies with known faults: a validator that misses them cannot be trusted."""

# Replaces a value that is to be removed.
MISSING = object()

# A small body for each protocol, which is good, and what makes it bad: a path into it and the value to put there.
CONTROLS = {
    "openai": (
        {
            "model": "m",
            "stream": True,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "a", "content": "done"},
            ],
            "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
        },
        [
            (["stream"], False),
            (["messages"], MISSING),
            (["messages", 0, "role"], "human"),
            (["messages", 0, "content", 0, "type"], "words"),
            (["messages", 0, "content", 0, "text"], MISSING),
            (["messages", 1, "tool_calls", 0, "function", "arguments"], {}),
            (["messages", 1, "tool_calls", 0, "id"], MISSING),
            (["messages", 2, "tool_call_id"], MISSING),
            (["messages", 2, "is_error"], True),
            (["messages", 2, "reasoning_content"], 7),
            (["tools", 0, "function", "name"], MISSING),
            (["tools", 0, "function", "input_schema"], {}),
            (["max_completion_tokens"], "8192"),
            (["temperature"], True),
        ],
    ),
    "openai-responses": (
        {
            "model": "m",
            "stream": True,
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"},
                {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "a", "output": "done"},
            ],
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False}],
        },
        [
            (["stream"], MISSING),
            (["messages"], []),
            (["input", 0, "role"], "tool"),
            (["input", 0, "content", 0, "type"], "text"),
            (["input", 1, "summary"], MISSING),
            (["input", 1, "signature"], "x"),
            (["input", 2, "arguments"], {}),
            (["input", 2, "call_id"], MISSING),
            (["input", 3, "output"], {"text": "done"}),
            (["input", 3, "output"], MISSING),
            (["input", 3, "is_error"], True),
            (["tools", 0, "name"], MISSING),
            (["tools", 0, "function"], {}),
            (["include"], ["everything"]),
        ],
    ),
    "anthropic": (
        {
            "model": "m",
            "max_tokens": 1,
            "stream": True,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "x"},
                        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "a",
                            "content": [
                                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                            ],
                        }
                    ],
                },
            ],
            "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        },
        [
            (["max_tokens"], MISSING),
            (["stream"], False),
            (["messages", 0, "role"], "tool"),
            (["messages", 0, "content", 0, "cache_control", "type"], "forever"),
            (["messages", 1, "content", 0, "signature"], MISSING),
            (["messages", 1, "content", 1, "input"], "{}"),
            (["messages", 1, "content", 1, "id"], MISSING),
            (["messages", 2, "content", 0, "tool_use_id"], MISSING),
            (["messages", 2, "content", 0, "is_error"], "yes"),
            (["messages", 2, "content", 0, "content", 0, "source", "media_type"], "image/bmp"),
            (["messages", 2, "content", 0, "content", 0, "source", "data"], MISSING),
            (["tools", 0, "input_schema"], MISSING),
            (["tools", 0, "parameters"], {}),
            (["tool_choice"], "auto"),
        ],
    ),
    "gemini": (
        {
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
                {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "f", "args": {}}, "thoughtSignature": "AAAA"}]},
                {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f", "response": {"output": "done"}}}]},
            ],
            "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
            "generationConfig": {"maxOutputTokens": 1},
        },
        [
            (["contents"], MISSING),
            (["stream"], True),
            (["contents", 0, "content"], "hi"),
            (["contents", 0, "parts", 0, "type"], "text"),
            (["contents", 0, "parts", 1, "inlineData", "data"], "not base64"),
            (["contents", 0, "parts", 1, "inlineData", "mime_type"], "image/png"),
            (["contents", 1, "parts", 0, "functionCall", "args"], "{}"),
            (["contents", 1, "parts", 0, "thoughtSignature"], "?"),
            (["contents", 2, "parts", 0, "functionResponse", "response"], "done"),
            (["contents", 2, "parts", 0, "functionResponse", "isError"], True),
            (["tools", 0, "functionDeclarations", 0, "parameters", "type"], "object"),
            (["tools", 0, "functionDeclarations", 0, "parameters", "properties", "a", "const"], "x"),
            (["tools", 0, "functionDeclarations", 0, "parameters", "items"], {"type": "STRING", "if": {}}),
            (["toolConfig", "functionCallingConfig", "mode"], "SOMETIMES"),
            (["generationConfig", "max_tokens"], 1),
            (["generationConfig", "maxOutputTokens"], 1.5),
        ],
    ),
}
