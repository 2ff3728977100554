"""The API server is reached over TLS with the cluster's own authority, and no other."""

import ssl
import subprocess

import pytest

from rankscope.collector.kubernetes.server import KubernetesApi
from rankscope.collector.settings.kubernetes import KubernetesSettings

CONDITION = {
    "type": "RankscopeDegraded",
    "status": "True",
    "reason": "GpuLost",
    "message": "",
    "lastHeartbeatTime": "2026-03-02T08:00:00Z",
    "lastTransitionTime": "2026-03-02T08:00:00Z",
}


@pytest.fixture
def certified(program, tmp_path):
    """Return a function that makes a certificate for 127.0.0.1 in a folder of its own."""

    def make(name):
        folder = tmp_path / name
        folder.mkdir()
        subprocess.run(
            [program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", f"/CN={name}",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem",
             "-out", folder / "ca.crt"],
            check=True, capture_output=True,
        )  # fmt: skip
        (folder / "token").write_text("token-1")
        return folder

    return make


@pytest.fixture
def served(api, certified):
    """Return the folder of the authority that the double's certificate is of."""
    folder = certified("cluster")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "ca.crt", folder / "key.pem")
    api.server.socket = context.wrap_socket(api.server.socket, server_side=True)
    return folder


def patched(api, folder):
    settings = KubernetesSettings(
        write_back=True, api_server=f"https://127.0.0.1:{api.port}", credentials=folder
    )
    server = KubernetesApi(settings)
    outcome = server.patch_status("gpu-1", {"status": {"conditions": [CONDITION]}})
    server.close()
    return outcome, server.error


def test_the_clusters_own_authority_is_trusted(api, served):
    assert ("written", "") == patched(api, served)
    assert ("True", "GpuLost") == api.status("gpu-1")


def test_another_one_is_not(api, served, certified):
    outcome, error = patched(api, certified("other"))
    assert "again" == outcome
    assert "CERTIFICATE_VERIFY_FAILED" in error
    assert {"Ready"} == set(api.nodes["gpu-1"])
