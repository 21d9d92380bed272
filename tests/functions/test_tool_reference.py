"""The tool reference is what the registry says, and its examples work."""

from am_server.tools.catalogue import load

from infra.tool_reference import FILE, reference


def test_the_document_is_up_to_date():
    assert FILE.read_text() == reference(), "run: python -m infra.tool_reference"


def test_every_tool_is_in_it():
    text = FILE.read_text()
    assert [name for name in load() if f"### {name}\n" not in text] == []


def test_every_example_works_in_the_order_of_the_document(agent, services):
    caller = agent("enterprise")
    token = caller.send("POST", "/v1/space-token").json["token"]
    for name, tool in load().items():
        for arguments in tool.examples:
            headers = {"Authorization": f"Bearer {token}"} if tool.requires == "spaces" else {}
            answer = caller.rpc("tools/call", {"name": name, "arguments": arguments}, headers)
            assert answer["result"]["isError"] is False, f"{name}: {answer['result']['structuredContent']}"
