/* GPU Operational Events, as drivers from R620 have them: "operational = <serial>:<xid>:<severity>:
 * <attributes>, ..." lists those of a device (xid 0: without one). They are told in order; those of
 * before the registration are not told. `global.operational = 0` is an older driver. */
#ifndef RANKSCOPE_NVML_OPERATIONAL_H
#define RANKSCOPE_NVML_OPERATIONAL_H

enum { DATA_GPU_OPERATIONAL_EVENT = 1, CONTEXT_LEGACY_XID = 1 };

typedef struct { unsigned long long serial; unsigned xid, severity, attributes; } operational_t;

static int next_operational(const scenario_t *s, int gpu, unsigned long long seen,
                            operational_t *out)
{
    const char *at = value_of(s, gpu, "operational");
    operational_t one;
    out->serial = 0;
    while (at && *at) {
        int found = sscanf(at, "%llu:%u:%u:%u", &one.serial, &one.xid, &one.severity,
                           &one.attributes);
        if (found == 4 && one.serial > seen && (!out->serial || one.serial < out->serial))
            *out = one;
        at += strcspn(at, ",");
        at += strspn(at, ", ");
    }
    return out->serial != 0;
}

static int has_operational(const scenario_t *s)
{
    unsigned long long there = 1;
    number(s, -1, "operational", &there);
    return there != 0;
}

PUBLIC nvmlReturn_t nvmlEventSetRegisterGpuOperationalEvents_v1(
    nvmlEventSet_t set, const nvmlGpuOperationalEventConfig_v1_t *config)
{
    ENTER(0);
    if (!has_operational(call.s))
        return leave(NVML_ERROR_NOT_SUPPORTED);
    if (!set || !config)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    for (int gpu = 0; gpu < call.s->count; gpu++) {
        const char *mine = value_of(call.s, gpu, "uuid");
        operational_t one;
        if (config->uuid[0] && (!mine || strcmp(mine, config->uuid)))
            continue;
        while (next_operational(call.s, gpu, set->operational[gpu], &one))
            set->operational[gpu] = one.serial;
        set->operational_wanted[gpu] = 1 + config->minSeverity;
    }
    return leave(NVML_SUCCESS);
}

static nvmlReturn_t look_operational(const call_t *call, nvmlEventSet_t set,
                                     nvmlEventSetWait_v3_t *out)
{
    operational_t one;
    for (int gpu = 0; gpu < MAX_GPUS; gpu++) {
        while (set->operational_wanted[gpu] &&
               next_operational(call->s, gpu, set->operational[gpu], &one)) {
            const char *mine = value_of(call->s, gpu, "uuid");
            set->operational[gpu] = one.serial;
            if (one.severity + 1 < set->operational_wanted[gpu])
                continue;
            unsigned timeout = out->timeoutMs;
            memset(out, 0, sizeof *out);
            out->timeoutMs = timeout;
            out->dataType = DATA_GPU_OPERATIONAL_EVENT;
            snprintf(out->uuid, sizeof out->uuid, "%s", mine ? mine : "");
            snprintf(out->sourceModule, sizeof out->sourceModule, "MMU");
            out->timestampUsec = (unsigned long long)(epoch_now() * 1e6);
            out->severity = one.severity;
            out->attributes = one.attributes;
            out->groupSize = 1;
            set->legacy_xid = one.xid;
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_TIMEOUT;
}

PUBLIC nvmlReturn_t nvmlEventSetWait_v3(nvmlEventSet_t set, nvmlEventSetWait_v3_t *out)
{
    long long until = nanoseconds(CLOCK_MONOTONIC) + (long long)out->timeoutMs * 1000000LL;
    for (;;) {
        ENTER(0);
        if (!set)
            return leave(NVML_ERROR_INVALID_ARGUMENT);
        code = leave(look_operational(&call, set, out));
        long long left = until - nanoseconds(CLOCK_MONOTONIC);
        if (code != NVML_ERROR_TIMEOUT || left <= 0)
            return code;
        sleep_until_changed(set->changes, left / 1000000 + 1);
    }
}

PUBLIC nvmlReturn_t nvmlEventSetGetContextCount_v1(nvmlEventSet_t set,
                                                   nvmlEventSetGetContextCount_v1_t *out)
{
    ENTER(0);
    out->count = set->legacy_xid ? 1 : 0;
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlEventSetGetContextInfo_v1(nvmlEventSet_t set,
                                                  nvmlEventSetGetContextInfo_v1_t *out)
{
    ENTER(0);
    if (!set->legacy_xid || out->index)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    out->nvmlGpuOperationalEventContextType = CONTEXT_LEGACY_XID;
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1(
    nvmlEventSet_t set, nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1_t *out)
{
    ENTER(0);
    if (!set->legacy_xid || out->index)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    out->xidCode = set->legacy_xid;
    return leave(NVML_SUCCESS);
}

#endif
