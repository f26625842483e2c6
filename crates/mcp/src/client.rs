//! Any MCP server as tools of ours.
