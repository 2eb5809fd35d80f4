"""The certificate with which a page that others can reach is served."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
from pathlib import Path

from thenar.errors import BadFile, ThenarError

DAYS = 3650
TUNNEL = "or leave --host out and come through a tunnel: ssh -L 8080:127.0.0.1:8080 THIS_MACHINE"


def check_certificate(certificate: Path) -> None:
    """Refuse a file from which TLS cannot be served."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = getattr(error, "strerror", None) or str(error)
        raise BadFile(certificate, f"not a key and its certificate in PEM ({why}); leave --certificate out") from error


def fingerprint(certificate: Path) -> str:
    """SHA-256 of a certificate, as browsers show it."""
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    first = certificate.read_text().partition(begin)[2].partition(end)[0]
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(begin + first + end)).digest().hex(":").upper()


def make_certificate() -> Path:
    """This user's own certificate, made on first use: it vouches for nothing but that it is the one of last time."""
    data = os.environ.get("XDG_DATA_HOME", "")
    path = (Path(data) if data else Path.home() / ".local" / "share") / "thenar" / "page.pem"
    if path.exists():
        return path
    openssl = shutil.which("openssl")
    if openssl is None:
        raise ThenarError(f"a page for others needs a certificate: install openssl, give --certificate FILE, {TUNNEL}")
    names = f"subjectAltName=DNS:{socket.gethostname()},DNS:localhost,IP:127.0.0.1"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", str(DAYS), "-subj", "/CN=thenar", "-addext", names]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:  # which nobody else can look into
            key, certificate = Path(folder, "key"), Path(folder, "certificate")
            subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=60)
            key.chmod(0o600)
            key.write_bytes(key.read_bytes() + certificate.read_bytes())
            key.replace(path)
    except (OSError, subprocess.SubprocessError) as error:
        raise ThenarError(f"no certificate could be made ({error}): give --certificate FILE, {TUNNEL}") from error
    return path
