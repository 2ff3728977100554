/* Field values and GPM: numbers asked for by id. A key "field.<id>[.<scope>]" says it outright;
 * else the number is that of the function which reads the same thing. */
#ifndef RANKSCOPE_NVML_FIELDS_H
#define RANKSCOPE_NVML_FIELDS_H

typedef struct { unsigned id; int type; const char *key; } field_t;

static const field_t plain_fields[] = {
    {1, VALUE_UNSIGNED_INT, "ecc_mode"},
    {3, VALUE_UNSIGNED_LONG_LONG, "ecc_sbe"},
    {4, VALUE_UNSIGNED_LONG_LONG, "ecc_dbe"},
    {5, VALUE_UNSIGNED_LONG_LONG, "ecc_sbe_aggregate"},
    {6, VALUE_UNSIGNED_LONG_LONG, "ecc_dbe_aggregate"},
    {31, VALUE_UNSIGNED_INT, "retired_pending"},
    {74, VALUE_UNSIGNED_LONG_LONG, "violation_power_ns"},
    {75, VALUE_UNSIGNED_LONG_LONG, "violation_thermal_ns"},
    {76, VALUE_UNSIGNED_LONG_LONG, "violation_sync_boost_ns"},
    {77, VALUE_UNSIGNED_LONG_LONG, "violation_board_limit_ns"},
    {78, VALUE_UNSIGNED_LONG_LONG, "violation_low_utilization_ns"},
    {79, VALUE_UNSIGNED_LONG_LONG, "violation_reliability_ns"},
    {82, VALUE_UNSIGNED_INT, "temperature_memory_c"},
    {83, VALUE_UNSIGNED_LONG_LONG, "energy_mj"},
    {91, VALUE_UNSIGNED_INT, "nvlink_links"},
    {94, VALUE_UNSIGNED_INT, "pcie_replays"},
    {142, VALUE_UNSIGNED_INT, "remap_corrected"},
    {143, VALUE_UNSIGNED_INT, "remap_uncorrected"},
    {144, VALUE_UNSIGNED_INT, "remap_pending"},
    {145, VALUE_UNSIGNED_INT, "remap_failed"},
    {185, VALUE_UNSIGNED_INT, "power_mw"},
    {186, VALUE_UNSIGNED_INT, "power_mw"},
    {187, VALUE_UNSIGNED_INT, "power_min_mw"},
    {188, VALUE_UNSIGNED_INT, "power_max_mw"},
    {189, VALUE_UNSIGNED_INT, "power_default_mw"},
    {190, VALUE_UNSIGNED_INT, "power_enforced_mw"},
    {191, VALUE_UNSIGNED_LONG_LONG, "energy_mj"},
    {193, VALUE_SIGNED_INT, "tlimit_shutdown_c"},
    {194, VALUE_SIGNED_INT, "tlimit_slowdown_c"},
    {195, VALUE_SIGNED_INT, "tlimit_mem_max_c"},
    {196, VALUE_SIGNED_INT, "tlimit_gpu_max_c"},
    {197, VALUE_UNSIGNED_LONG_LONG, "pcie_tx_bytes"},
    {198, VALUE_UNSIGNED_LONG_LONG, "pcie_rx_bytes"},
    {230, VALUE_UNSIGNED_INT, "recovery_action"},
    {269, VALUE_UNSIGNED_LONG_LONG, "violation_sw_thermal_ns"},
    {270, VALUE_UNSIGNED_LONG_LONG, "violation_hw_thermal_ns"},
    {271, VALUE_UNSIGNED_LONG_LONG, "violation_power_brake_ns"},
};

/* Per-link fields whose scope is the link: the word after "nvlink.<n>.". */
static const field_t link_fields[] = {
    {161, VALUE_UNSIGNED_LONG_LONG, "replay"},    {162, VALUE_UNSIGNED_LONG_LONG, "recovery"},
    {163, VALUE_UNSIGNED_LONG_LONG, "crc_flit"},  {164, VALUE_UNSIGNED_INT, "speed_mbs"},
    {165, VALUE_UNSIGNED_INT, "state"},           {166, VALUE_UNSIGNED_INT, "version"},
    {208, VALUE_UNSIGNED_LONG_LONG, "rcv_errors"}, {213, VALUE_UNSIGNED_LONG_LONG, "recovered"},
    {214, VALUE_UNSIGNED_LONG_LONG, "unrecovered"}, {215, VALUE_UNSIGNED_LONG_LONG, "recoveries"},
    {219, VALUE_UNSIGNED_LONG_LONG, "effective_errors"},
    {221, VALUE_UNSIGNED_LONG_LONG, "symbol_errors"},
};

/* Old per-lane ids: six lanes, a total, and six more lanes further on. */
static const struct { unsigned first, more; const char *what; } lane_fields[] = {
    {32, 96, "crc_flit"}, {39, 102, "crc_data"}, {46, 108, "replay"}, {53, 114, "recovery"}};

static const char *const throughput_keys[] = {"nvlink_data_tx_kib", "nvlink_data_rx_kib",
                                              "nvlink_raw_tx_kib", "nvlink_raw_rx_kib"};

#define EVERY_LINK 0xffffffffU

static nvmlReturn_t sum_over_links(const call_t *call, const char *what, unsigned long long *out)
{
    unsigned links = 0;
    nvmlReturn_t code = get_uint(call, "nvlink_links", &links);
    *out = 0;
    for (unsigned link = 0; code == NVML_SUCCESS && link < links; link++) {
        unsigned long long one = 0;
        code = nvlink_number(call, link, what, &one);
        *out += one;
    }
    return code == NVML_SUCCESS && !links ? NVML_ERROR_NOT_SUPPORTED : code;
}

static nvmlReturn_t lane_field(const call_t *call, unsigned id, unsigned long long *out)
{
    for (unsigned i = 0; i < 4; i++) {
        unsigned first = lane_fields[i].first, more = lane_fields[i].more;
        if (id == first + 6)
            return sum_over_links(call, lane_fields[i].what, out);
        if (id >= first && id < first + 6)
            return nvlink_number(call, id - first, lane_fields[i].what, out);
        if (id >= more && id < more + 6)
            return nvlink_number(call, id - more + 6, lane_fields[i].what, out);
    }
    return NVML_ERROR_NOT_SUPPORTED;
}

/* KiB since the driver's start; a scope is one link (an even share), ~0 the sum of all links. */
static nvmlReturn_t throughput(const call_t *call, unsigned id, unsigned scope,
                               unsigned long long *out)
{
    unsigned links = 0;
    nvmlReturn_t code = number(call->s, call->gpu, throughput_keys[id - 138], out);
    if (code != NVML_SUCCESS || scope == EVERY_LINK)
        return code;
    code = nvlink_there(call, scope);
    get_uint(call, "nvlink_links", &links);
    if (code == NVML_SUCCESS)
        *out /= links;
    return code;
}

static nvmlReturn_t field(const call_t *call, unsigned id, unsigned scope, int *type,
                          unsigned long long *out)
{
    char key[48];
    *type = VALUE_UNSIGNED_LONG_LONG;
    for (size_t i = 0; i < sizeof plain_fields / sizeof *plain_fields; i++)
        if (plain_fields[i].id == id)
            *type = plain_fields[i].type;
    snprintf(key, sizeof key, "field.%u.%u", id, scope);
    if (!value_of(call->s, call->gpu, key))
        snprintf(key, sizeof key, "field.%u", id);
    const char *said = raw(call->s, FIRST_GPU + call->gpu, key);
    if (!said)
        said = raw(call->s, ALL, key);
    if (said)
        return number(call->s, call->gpu, key, out);
    for (size_t i = 0; i < sizeof plain_fields / sizeof *plain_fields; i++)
        if (plain_fields[i].id == id)
            return number(call->s, call->gpu, plain_fields[i].key, out);
    for (size_t i = 0; i < sizeof link_fields / sizeof *link_fields; i++)
        if (link_fields[i].id == id) {
            *type = link_fields[i].type;
            return nvlink_number(call, scope, link_fields[i].key, out);
        }
    if (id >= 138 && id <= 141)
        return throughput(call, id, scope, out);
    return lane_field(call, id, out);
}

PUBLIC nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count,
                                             nvmlFieldValue_t *values)
{
    ENTER_DEVICE(device, ON_DEVICE);
    if (count <= 0 || !values)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    long long now = nanoseconds(CLOCK_REALTIME) / 1000;
    for (int i = 0; i < count; i++) {
        int type;
        unsigned long long value = 0;
        values[i].timestamp = now;
        values[i].latencyUsec = 1;
        values[i].value.ullVal = 0;
        values[i].nvmlReturn = field(&call, values[i].fieldId, values[i].scopeId, &type, &value);
        values[i].valueType = (unsigned)type;
        if (values[i].nvmlReturn != NVML_SUCCESS)
            continue;
        if (type == VALUE_UNSIGNED_INT || type == VALUE_SIGNED_INT)
            values[i].value.uiVal = (unsigned)value;
        else
            values[i].value.ullVal = value;
    }
    return leave(NVML_SUCCESS);
}

/* -- GPM: "gpm = 1" where the hardware has it, "gpm.<metric id> = 95.2" -------------------------- */

struct gpm_sample { int gpu, taken; long long at; };

PUBLIC nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *out)
{
    ENTER_DEVICE(device, IDENTITY);
    if (out->version != 1)
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    out->isSupportedDevice = 0;
    get_uint(&call, "gpm", &out->isSupportedDevice);
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *out)
{
    ENTER(0);
    *out = calloc(1, sizeof **out);
    return leave(*out ? NVML_SUCCESS : NVML_ERROR_MEMORY);
}

PUBLIC nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
    ENTER(0);
    free(sample);
    return leave(NVML_SUCCESS);
}

static nvmlReturn_t sample(const call_t *call, nvmlGpmSample_t out)
{
    unsigned supported = 0;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    get_uint(call, "gpm", &supported);
    if (!supported)
        return NVML_ERROR_NOT_SUPPORTED;
    *out = (struct gpm_sample){call->gpu, 1, nanoseconds(CLOCK_MONOTONIC)};
    return NVML_SUCCESS;
}

PUBLIC nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    return leave(sample(&call, out));
}

PUBLIC nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned instance, nvmlGpmSample_t out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    (void)instance;
    return leave(sample(&call, out));
}

PUBLIC nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get)
{
    ENTER(0);
    const struct gpm_sample *a = get->sample1, *b = get->sample2;
    if (get->version != 1)
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    /* Two samples of one device, the older one first: anything else has no difference to tell. */
    if (!a || !b || !a->taken || !b->taken || a->gpu != b->gpu || a->at >= b->at)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    for (unsigned i = 0; i < get->numMetrics; i++) {
        char key[24];
        snprintf(key, sizeof key, "gpm.%u", get->metrics[i].metricId);
        const char *text = value_of(call.s, a->gpu, key);
        get->metrics[i].nvmlReturn = !text ? NVML_ERROR_NOT_SUPPORTED
                                     : *text == '!' ? atoi(text + 1) : NVML_SUCCESS;
        get->metrics[i].value = text && *text != '!' ? strtod(text, NULL) : 0.0;
    }
    return leave(NVML_SUCCESS);
}

#endif
