/* The event set. "xid = <serial>:<code>, ..." lists a device's faults, and "events =
 * <serial>:<type>:<data>, ..." whatever else it tells; each serial higher than the last one that a
 * set has seen under its key is one event for that set. */
#ifndef RANKSCOPE_NVML_EVENTS_H
#define RANKSCOPE_NVML_EVENTS_H

#include <libgen.h>
#include <poll.h>
#include <sys/inotify.h>

struct event_set {
    unsigned long long wanted[MAX_GPUS], seen[MAX_GPUS][2], operational[MAX_GPUS];
    unsigned operational_wanted[MAX_GPUS], legacy_xid; /* 0, or 1 + the least severity */
    int changes; /* tells when the scenario's folder changes: a wait sleeps, as a driver's does */
};

static int watch_folder(void)
{
    const char *path = getenv("RANKSCOPE_NVML_STUB");
    int changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char *copy = path ? strdup(path) : NULL;
    if (changes >= 0 && copy)
        inotify_add_watch(changes, dirname(copy), IN_MOVED_TO | IN_CLOSE_WRITE);
    free(copy);
    return changes;
}

/* Sleep until the scenario's folder changes, at most so long; then look at the file at once. */
static void sleep_until_changed(int changes, long long ms)
{
    char news[4096];
    struct pollfd one = {changes, POLLIN, 0};
    if (changes < 0)
        nap(ms < 20 ? (long)ms : 20); /* no inotify left for us */
    else if (poll(&one, 1, ms > 60000 ? 60000 : (int)ms) > 0)
        while (read(changes, news, sizeof news) > 0)
            ;
    atomic_store(&checked_at, 0);
}

PUBLIC nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *out)
{
    ENTER(0);
    if (!(*out = calloc(1, sizeof **out)))
        return leave(NVML_ERROR_MEMORY);
    (*out)->changes = watch_folder();
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    ENTER(0);
    if (!set)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (set->changes >= 0)
        close(set->changes);
    free(set);
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *out)
{
    ENTER_DEVICE(device, ON_DEVICE);
    if (number(call.s, call.gpu, "event_types", out) != NVML_SUCCESS)
        *out = EVENT_XID_CRITICAL;
    return leave(NVML_SUCCESS);
}

/* Find the event of the lowest serial above `seen` under one of the two keys; 0: there is none. */
static unsigned long long next_event(const scenario_t *s, int gpu, int key, unsigned long long seen,
                                     unsigned long long *type, unsigned long long *data)
{
    const char *at = value_of(s, gpu, key ? "events" : "xid");
    unsigned long long best = 0, n[3];
    while (at && *at) {
        int found = sscanf(at, "%llu:%lli:%llu", &n[0], (long long *)&n[1], &n[2]);
        if (found == 2 + key && n[0] > seen && (!best || n[0] < best)) {
            best = n[0];
            *type = key ? n[1] : EVENT_XID_CRITICAL;
            *data = key ? n[2] : n[1];
        }
        at += strcspn(at, ",");
        at += strspn(at, ", ");
    }
    return best;
}

/* Events of before the registration are not told, as with a real driver. */
PUBLIC nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                             nvmlEventSet_t set)
{
    ENTER_DEVICE(device, ON_DEVICE);
    unsigned long long supported = EVENT_XID_CRITICAL, type, data, at;
    number(call.s, call.gpu, "event_types", &supported);
    if (!set || types & ~supported)
        return leave(set ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT);
    for (int key = 0; key < 2; key++)
        while ((at = next_event(call.s, call.gpu, key, set->seen[call.gpu][key], &type, &data)))
            set->seen[call.gpu][key] = at;
    set->wanted[call.gpu] |= types;
    return leave(NVML_SUCCESS);
}

/* One look at the set: an event, a lost member (only when nothing is left to tell), or nothing. */
static nvmlReturn_t look(const call_t *call, nvmlEventSet_t set, nvmlEventData_t *out)
{
    unsigned long long type, data, serial, ends = 1;
    nvmlReturn_t result = NVML_ERROR_TIMEOUT;
    for (int gpu = 0; gpu < MAX_GPUS; gpu++) {
        if (!set->wanted[gpu])
            continue;
        for (int key = 0; key < 2; key++)
            while ((serial = next_event(call->s, gpu, key, set->seen[gpu][key], &type, &data))) {
                set->seen[gpu][key] = serial;
                if (!(type & set->wanted[gpu]))
                    continue; /* a kind that nobody registered for */
                *out = (nvmlEventData_t){handle_of(gpu, -1), type, data, ~0U, ~0U};
                return NVML_SUCCESS;
            }
        if (call->s->devices[gpu].state == STATE_LOST || call->s->devices[gpu].index < 0)
            result = NVML_ERROR_GPU_IS_LOST;
    }
    number(call->s, -1, "lost_ends_wait", &ends);
    return result == NVML_ERROR_GPU_IS_LOST && !ends ? NVML_ERROR_TIMEOUT : result;
}

/* Wait at most `timeout_ms`. The reference has a wait fail with GPU_IS_LOST once a member is lost;
 * `global.lost_ends_wait = 0` has it go on for the others instead. */
PUBLIC nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *out,
                                        unsigned timeout_ms)
{
    long long until = nanoseconds(CLOCK_MONOTONIC) + (long long)timeout_ms * 1000000LL;
    for (;;) {
        ENTER(0);
        if (!set)
            return leave(NVML_ERROR_INVALID_ARGUMENT);
        code = leave(look(&call, set, out));
        long long left = until - nanoseconds(CLOCK_MONOTONIC);
        if (code != NVML_ERROR_TIMEOUT || left <= 0)
            return code;
        sleep_until_changed(set->changes, left / 1000000 + 1);
    }
}

#endif
