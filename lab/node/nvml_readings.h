/* What a device reads at the moment: memory, load, heat, power, clocks, errors, processes. */
#ifndef RANKSCOPE_NVML_READINGS_H
#define RANKSCOPE_NVML_READINGS_H

/* -- memory and load -------------------------------------------------------------------------- */

static nvmlReturn_t memory(const call_t *call, nvmlMemory_v2_t *out)
{
    mig_t mig;
    if (call->mig >= 0) {
        if (!mig_at(call->s, call->gpu, call->mig, &mig))
            return NVML_ERROR_NOT_FOUND;
        out->total = mig.total, out->used = mig.used, out->reserved = 0;
    } else {
        nvmlReturn_t code = number(call->s, call->gpu, "memory_total", &out->total);
        if (code == NVML_SUCCESS)
            code = number(call->s, call->gpu, "memory_used", &out->used);
        if (code != NVML_SUCCESS)
            return code;
        if (number(call->s, call->gpu, "memory_reserved", &out->reserved) != NVML_SUCCESS)
            out->reserved = 0;
    }
    out->free = out->total - out->used - out->reserved;
    return NVML_SUCCESS;
}

/* The first form counts what the driver reserves as used; the second keeps it apart. */
PUBLIC nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out)
{
    ENTER_DEVICE(device, ON_MIG);
    nvmlMemory_v2_t all;
    code = memory(&call, &all);
    if (code == NVML_SUCCESS)
        *out = (nvmlMemory_t){all.total, all.free, all.used + all.reserved};
    return leave(code);
}

PUBLIC nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *out)
{
    ENTER_DEVICE(device, ON_MIG);
    if (out->version != VERSION_OF(nvmlMemory_v2_t, 2))
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    return leave(memory(&call, out));
}

PUBLIC nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    code = get_uint(&call, "util_gpu", &out->gpu);
    return leave(code == NVML_SUCCESS ? get_uint(&call, "util_memory", &out->memory) : code);
}

#define CODEC(function, key)                                                                       \
    PUBLIC nvmlReturn_t function(nvmlDevice_t device, unsigned *out, unsigned *period_us)          \
    {                                                                                              \
        ENTER_DEVICE(device, ON_DEVICE);                                                           \
        *period_us = 167000;                                                                       \
        return leave(get_uint(&call, key, out));                                                   \
    }

CODEC(nvmlDeviceGetEncoderUtilization, "util_encoder")
CODEC(nvmlDeviceGetDecoderUtilization, "util_decoder")

/* -- heat and power --------------------------------------------------------------------------- */

PUBLIC nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    return leave(sensor ? NVML_ERROR_INVALID_ARGUMENT : get_uint(&call, "temperature_c", out));
}

typedef struct { unsigned version, sensor; int temperature; } nvmlTemperature_t;

PUBLIC nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    if (out->version != VERSION_OF(nvmlTemperature_t, 1))
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    if (out->sensor)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    return leave(get_uint(&call, "temperature_c", (unsigned *)&out->temperature));
}

PUBLIC nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, unsigned which,
                                                      unsigned *out)
{
    static const char *const keys[] = {"threshold_shutdown_c", "threshold_slowdown_c",
                                       "threshold_mem_max_c", "threshold_gpu_max_c"};
    ENTER_DEVICE(device, ON_DEVICE);
    return leave(which < 4 ? get_uint(&call, keys[which], out) : NVML_ERROR_NOT_SUPPORTED);
}

PUBLIC nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    if (out->version != VERSION_OF(nvmlMarginTemperature_t, 1))
        return leave(NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    return leave(get_uint(&call, "margin_c", (unsigned *)&out->marginTemperature));
}

DEVICE_UINT(nvmlDeviceGetPowerUsage, "power_mw", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetEnforcedPowerLimit, "power_enforced_mw", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetPowerManagementLimit, "power_limit_mw", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetPowerManagementDefaultLimit, "power_default_mw", ON_DEVICE)
DEVICE_ULONG(nvmlDeviceGetTotalEnergyConsumption, "energy_mj")

PUBLIC nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned *low,
                                                                 unsigned *high)
{
    ENTER_DEVICE(device, ON_DEVICE);
    code = get_uint(&call, "power_min_mw", low);
    return leave(code == NVML_SUCCESS ? get_uint(&call, "power_max_mw", high) : code);
}

/* -- clocks ----------------------------------------------------------------------------------- */

static const char *const clock_names[] = {"graphics", "sm", "mem", "video"};

static nvmlReturn_t clock_reading(const call_t *call, const char *form, unsigned which,
                                  unsigned *out)
{
    char key[48];
    if (which > 3)
        return NVML_ERROR_INVALID_ARGUMENT;
    snprintf(key, sizeof key, form, clock_names[which]);
    return get_uint(call, key, out);
}

#define CLOCK(function, form)                                                                      \
    PUBLIC nvmlReturn_t function(nvmlDevice_t device, unsigned which, unsigned *out)               \
    {                                                                                              \
        ENTER_DEVICE(device, ON_DEVICE);                                                           \
        return leave(clock_reading(&call, form, which, out));                                      \
    }

CLOCK(nvmlDeviceGetClockInfo, "clock_%s_mhz")
CLOCK(nvmlDeviceGetMaxClockInfo, "clock_max_%s_mhz")
CLOCK(nvmlDeviceGetApplicationsClock, "clock_app_%s_mhz")
CLOCK(nvmlDeviceGetMaxCustomerBoostClock, "clock_max_%s_mhz")

DEVICE_ULONG(nvmlDeviceGetCurrentClocksEventReasons, "throttle_reasons")
DEVICE_ULONG(nvmlDeviceGetCurrentClocksThrottleReasons, "throttle_reasons")
DEVICE_ULONG(nvmlDeviceGetSupportedClocksEventReasons, "throttle_supported")
DEVICE_ULONG(nvmlDeviceGetSupportedClocksThrottleReasons, "throttle_supported")

static const char *violation_key(unsigned policy)
{
    static const char *const keys[] = {
        "violation_power_ns", "violation_thermal_ns", "violation_sync_boost_ns",
        "violation_board_limit_ns", "violation_low_utilization_ns", "violation_reliability_ns"};
    return policy < 6      ? keys[policy]
           : policy == 10 ? "violation_app_clocks_ns"
           : policy == 11 ? "violation_base_clocks_ns"
                          : NULL;
}

PUBLIC nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, unsigned policy,
                                                 nvmlViolationTime_t *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    if (!violation_key(policy))
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    out->referenceTime = (unsigned long long)nanoseconds(CLOCK_REALTIME) / 1000;
    return leave(number(call.s, call.gpu, violation_key(policy), &out->violationTime));
}

/* -- memory errors ---------------------------------------------------------------------------- */

PUBLIC nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned *now, unsigned *pending)
{
    ENTER_DEVICE(device, ON_DEVICE);
    code = get_uint(&call, "ecc_mode", now);
    if (code == NVML_SUCCESS && get_uint(&call, "ecc_pending", pending) != NVML_SUCCESS)
        *pending = *now;
    return leave(code);
}

/* Kinds: 0 corrected, 1 uncorrected; counters: 0 volatile (since the driver's start), 1 for life. */
static nvmlReturn_t ecc_total(const scenario_t *s, int gpu, unsigned kind, unsigned counter,
                              unsigned long long *out)
{
    static const char *const keys[2][2] = {{"ecc_sbe", "ecc_sbe_aggregate"},
                                           {"ecc_dbe", "ecc_dbe_aggregate"}};
    if (kind > 1 || counter > 1)
        return NVML_ERROR_INVALID_ARGUMENT;
    return number(s, gpu, keys[kind][counter], out);
}

PUBLIC nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned kind,
                                                unsigned counter, unsigned long long *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    return leave(ecc_total(call.s, call.gpu, kind, counter, out));
}

/* A location's own key, such as "ecc_dbe_aggregate.sram"; without one all errors are in the DRAM. */
PUBLIC nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, unsigned kind,
                                                    unsigned counter, unsigned location,
                                                    unsigned long long *out)
{
    static const char *const places[] = {"l1", "l2", "dram", "register", "texture", "shm",
                                         "cbu", "sram"};
    ENTER_DEVICE(device, ON_DEVICE);
    if (kind > 1 || counter > 1 || location > 7)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    char key[64];
    snprintf(key, sizeof key, "%s%s.%s", kind ? "ecc_dbe" : "ecc_sbe",
             counter ? "_aggregate" : "", places[location]);
    if (value_of(call.s, call.gpu, key))
        return leave(number(call.s, call.gpu, key, out));
    if (location == 2)
        return leave(ecc_total(call.s, call.gpu, kind, counter, out));
    *out = 0;
    /* Since Ampere only DRAM and SRAM are told apart. */
    unsigned long long fine = 0;
    number(call.s, call.gpu, "ecc_fine_locations", &fine);
    return leave(location == 7 || fine ? ecc_total(call.s, call.gpu, kind, counter, &fine)
                                       : NVML_ERROR_NOT_SUPPORTED);
}

PUBLIC nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected,
                                              unsigned *uncorrected, unsigned *pending,
                                              unsigned *failed)
{
    ENTER_DEVICE(device, ON_DEVICE);
    if ((code = get_uint(&call, "remap_corrected", corrected)) == NVML_SUCCESS &&
        (code = get_uint(&call, "remap_uncorrected", uncorrected)) == NVML_SUCCESS &&
        (code = get_uint(&call, "remap_pending", pending)) == NVML_SUCCESS)
        code = get_uint(&call, "remap_failed", failed);
    return leave(code);
}

PUBLIC nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device,
                                                      nvmlRowRemapperHistogramValues_t *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    const char *text = value_of(call.s, call.gpu, "remap_histogram");
    if (!text || sscanf(text, "%u %u %u %u %u", &out->max, &out->high, &out->partial, &out->low,
                        &out->none) != 5)
        code = NVML_ERROR_NOT_SUPPORTED;
    return leave(code);
}

static nvmlReturn_t retired(const call_t *call, unsigned cause, unsigned *count,
                            unsigned long long *pages, unsigned long long *times)
{
    if (cause > 1)
        return NVML_ERROR_INVALID_ARGUMENT;
    const char *at = value_of(call->s, call->gpu, cause ? "retired_dbe" : "retired_sbe");
    if (!at)
        return NVML_ERROR_NOT_SUPPORTED;
    unsigned room = pages ? *count : 0, found = 0;
    for (char *rest; *at; at = rest, found++) {
        unsigned long long page = strtoull(at, &rest, 0);
        if (rest == at)
            break;
        if (found < room) {
            pages[found] = page;
            if (times)
                times[found] = (unsigned long long)(call->s->epoch * 1e6);
        }
        while (*rest == ',' || *rest == ' ')
            rest++;
    }
    *count = found;
    return found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

PUBLIC nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, unsigned cause, unsigned *count,
                                              unsigned long long *pages)
{
    ENTER_DEVICE(device, ON_DEVICE);
    return leave(retired(&call, cause, count, pages, NULL));
}

PUBLIC nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, unsigned cause,
                                                 unsigned *count, unsigned long long *pages,
                                                 unsigned long long *times)
{
    ENTER_DEVICE(device, ON_DEVICE);
    return leave(retired(&call, cause, count, pages, times));
}

DEVICE_UINT(nvmlDeviceGetRetiredPagesPendingStatus, "retired_pending", ON_DEVICE)

/* -- processes: "processes = <pid>:<bytes>, ..." ----------------------------------------------- */

static nvmlReturn_t processes(const call_t *call, const char *key, unsigned *count,
                              nvmlProcessInfo_t *out)
{
    const char *at = value_of(call->s, call->gpu, key);
    unsigned room = out ? *count : 0, found = 0;
    mig_t mig = {.gi = ~0U, .ci = ~0U};
    if (at && *at == '!')
        return atoi(at + 1);
    if (call->mig >= 0)
        mig_at(call->s, call->gpu, call->mig, &mig);
    while (at && *at) {
        unsigned pid, gi = ~0U, ci = ~0U;
        unsigned long long bytes;
        if (sscanf(at, "%u:%llu:%u:%u", &pid, &bytes, &gi, &ci) >= 2 &&
            (call->mig < 0 || (gi == mig.gi && ci == mig.ci))) {
            if (found < room)
                out[found] = (nvmlProcessInfo_t){pid, bytes, gi, ci};
            found++;
        }
        at += strcspn(at, ",");
        at += strspn(at, ", ");
    }
    *count = found;
    return found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

#define PROCESSES(function, key)                                                                   \
    PUBLIC nvmlReturn_t function(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *out)     \
    {                                                                                              \
        ENTER_DEVICE(device, ON_MIG);                                                              \
        return leave(processes(&call, key, count, out));                                           \
    }

PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "processes")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics_processes")

/* "process_utilization = <pid>:<sm>:<memory>:<encoder>:<decoder>, ...", in percent. */
PUBLIC nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                                    nvmlProcessUtilizationSample_t *out,
                                                    unsigned *count, unsigned long long seen)
{
    ENTER_DEVICE(device, ON_DEVICE);
    const char *at = value_of(call.s, call.gpu, "process_utilization");
    unsigned room = out ? *count : 0, found = 0;
    unsigned long long now = (unsigned long long)nanoseconds(CLOCK_REALTIME) / 1000;
    while (at && *at && now > seen) {
        nvmlProcessUtilizationSample_t one = {.timeStamp = now};
        if (sscanf(at, "%u:%u:%u:%u:%u", &one.pid, &one.smUtil, &one.memUtil, &one.encUtil,
                   &one.decUtil) >= 2) {
            if (found < room)
                out[found] = one;
            found++;
        }
        at += strcspn(at, ",");
        at += strspn(at, ", ");
    }
    *count = found;
    return leave(!found ? NVML_ERROR_NOT_FOUND
                 : found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

#endif
