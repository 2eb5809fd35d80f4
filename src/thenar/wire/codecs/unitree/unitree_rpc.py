"""Unitree's remote calls (``rt/api/SERVICE/{request,response}``) as bytes: a number for the call, JSON for the rest."""

from __future__ import annotations

from dataclasses import dataclass

from thenar import cdr

REQUEST_TYPE = "unitree_api::msg::dds_::Request_"
RESPONSE_TYPE = "unitree_api::msg::dds_::Response_"
OK, NOT_IMPLEMENTED = 0, 3203
"""Codes of an answer."""
MAX_BINARY = 4096


def topics(service: str) -> tuple[str, str]:
    """Names of the topics of requests and of responses."""
    return f"rt/api/{service}/request", f"rt/api/{service}/response"


@dataclass(frozen=True, kw_only=True)
class RpcRequest:
    """One call."""

    id: int
    """By which its answer is found."""
    api_id: int
    """What is called."""
    parameter: str
    noreply: bool = False


def decode_request(message: bytes) -> RpcRequest:
    """What a request asks for."""
    reader = cdr.Reader(message)
    number, api_id, _lease = reader.numbers("i8", 3, "identity").tolist()
    reader.numbers("i4", 1, "priority")
    noreply = bool(reader.numbers("u1", 1, "noreply")[0])
    parameter = reader.string("parameter")
    reader.sequence("u1", MAX_BINARY, "binary")
    reader.end()
    return RpcRequest(id=number, api_id=api_id, parameter=parameter, noreply=noreply)


def encode_response(request: RpcRequest, *, code: int = OK, data: str = "") -> bytes:
    """The answer to a request."""
    out = bytearray()
    cdr.put(out, "2q", request.id, request.api_id)
    cdr.put(out, "i", code)
    cdr.put_string(out, data)
    cdr.put(out, "I", 0)
    return cdr.HEADER + bytes(out)
