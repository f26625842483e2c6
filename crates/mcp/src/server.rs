//! Our tools for any MCP client.
