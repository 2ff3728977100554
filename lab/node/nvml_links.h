/* What a device is connected by: PCIe, NVLink, and the fabric of NVSwitches. */
#ifndef RANKSCOPE_NVML_LINKS_H
#define RANKSCOPE_NVML_LINKS_H

/* -- PCIe ------------------------------------------------------------------------------------- */

DEVICE_UINT(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_gen", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_gen_max", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie_gen_max", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width_max", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetPcieReplayCounter, "pcie_replays", ON_DEVICE)

/* KB/s over the last 20 ms, which is why real calls take that long; `slow_ms` can play that. */
PUBLIC nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, unsigned which, unsigned *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    return leave(which > 1 ? NVML_ERROR_INVALID_ARGUMENT
                           : get_uint(&call, which ? "pcie_rx_kbs" : "pcie_tx_kbs", out));
}

/* -- NVLink ----------------------------------------------------------------------------------- */

static const char *const nvlink_errors[] = {"replay", "recovery", "crc_flit", "crc_data",
                                            "ecc_data"};

/* Whether the device has this link. */
static nvmlReturn_t nvlink_there(const call_t *call, unsigned link)
{
    unsigned links = 0;
    nvmlReturn_t code = get_uint(call, "nvlink_links", &links);
    if (code != NVML_SUCCESS || !links)
        return NVML_ERROR_NOT_SUPPORTED;
    return link < links ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

/* A link's own key "nvlink.<n>.<what>", else the one for every link, "nvlink_<what>". */
static nvmlReturn_t nvlink_number(const call_t *call, unsigned link, const char *what,
                                  unsigned long long *out)
{
    char key[64];
    nvmlReturn_t code = nvlink_there(call, link);
    if (code != NVML_SUCCESS)
        return code;
    snprintf(key, sizeof key, "nvlink.%u.%s", link, what);
    if (!value_of(call->s, call->gpu, key))
        snprintf(key, sizeof key, "nvlink_%s", what);
    return number(call->s, call->gpu, key, out);
}

#define NVLINK(function, what)                                                                     \
    PUBLIC nvmlReturn_t function(nvmlDevice_t device, unsigned link, unsigned *out)                \
    {                                                                                              \
        ENTER_DEVICE(device, ON_DEVICE);                                                           \
        unsigned long long value = 0;                                                              \
        code = nvlink_number(&call, link, what, &value);                                           \
        if (code == NVML_SUCCESS)                                                                  \
            *out = (unsigned)value;                                                                \
        return leave(code);                                                                        \
    }

NVLINK(nvmlDeviceGetNvLinkState, "state")
NVLINK(nvmlDeviceGetNvLinkVersion, "version")

PUBLIC nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link,
                                                    unsigned kind, unsigned long long *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    return leave(kind > 4 ? NVML_ERROR_INVALID_ARGUMENT
                          : nvlink_number(&call, link, nvlink_errors[kind], out));
}

PUBLIC nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned link,
                                                  unsigned which, unsigned *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    code = which > 5 ? NVML_ERROR_INVALID_ARGUMENT : nvlink_there(&call, link);
    if (code == NVML_SUCCESS)
        *out = which != 4; /* everything but the old SLI bridge */
    return leave(code);
}

static nvmlReturn_t fabric(const call_t *call, unsigned char *cluster, nvmlReturn_t *status,
                           unsigned *clique, unsigned char *state, unsigned *mask)
{
    unsigned value = 0;
    nvmlReturn_t code = get_uint(call, "fabric_state", &value);
    if (code != NVML_SUCCESS)
        return code;
    *state = (unsigned char)value;
    value = 0;
    get_uint(call, "fabric_status", &value);
    *status = (nvmlReturn_t)value;
    *clique = *mask = 0;
    get_uint(call, "fabric_clique", clique);
    get_uint(call, "fabric_health_mask", mask);
    memset(cluster, 0, 16);
    return NVML_SUCCESS;
}

PUBLIC nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    unsigned mask;
    return leave(fabric(&call, out->clusterUuid, &out->status, &out->cliqueId, &out->state, &mask));
}

PUBLIC nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    unsigned second = VERSION_OF(nvmlGpuFabricInfo_v2_t, 2);
    unsigned third = VERSION_OF(nvmlGpuFabricInfo_v3_t, 3), summary = 0, newest = 3;
    get_uint(&call, "fabric_version", &newest);
    if (out->version != second && (out->version != third || newest < 3))
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    code = fabric(&call, out->clusterUuid, &out->status, &out->cliqueId, &out->state,
                  &out->healthMask);
    if (code == NVML_SUCCESS && out->version == third) {
        get_uint(&call, "fabric_health_summary", &summary);
        out->healthSummary = (unsigned char)summary;
    }
    return leave(code);
}

#endif
