/* The gate in front of every function: what a driver may do to a caller before it answers at all.
 *
 * A call hangs while the file says so, waits when it is slow, and is refused when the library is
 * not started, the function absent, the device gone, lost or waiting for a reset. Inside the gate
 * the scenario is held; `leave` lets go of it.
 */
#ifndef RANKSCOPE_NVML_GATE_H
#define RANKSCOPE_NVML_GATE_H

#include "nvml_scenario.h"

#define MAX_MIG 8
#define HANG_NAP_MS 20
#define PUBLIC __attribute__((visibility("default")))

/* A device, or one of its MIG devices (mig >= 0). Clients hold pointers to these. */
struct handle { int gpu, mig; };

static struct handle handles[MAX_GPUS][MAX_MIG + 1];
static _Atomic int started;

enum {
    ON_DEVICE = 0,
    IDENTITY = 1,  /* the library knows it without asking the device: no hang, no reset needed */
    ON_MIG = 2,    /* MIG devices answer it too */
    UNSTARTED = 4, /* works before nvmlInit */
};

typedef struct { const scenario_t *s; int gpu, mig; } call_t;

static void nap(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static nvmlDevice_t handle_of(int gpu, int mig)
{
    handles[gpu][mig + 1] = (struct handle){gpu, mig};
    return &handles[gpu][mig + 1];
}

static nvmlReturn_t leave(nvmlReturn_t code)
{
    pthread_rwlock_unlock(&scenario_lock);
    return code;
}

static nvmlReturn_t ordered_error(const scenario_t *s, int gpu, const char *function)
{
    char key[96];
    if (!s->has_errors)
        return NVML_SUCCESS;
    snprintf(key, sizeof key, "error.%s", function);
    const char *text = value_of(s, gpu, key);
    if (!text)
        text = value_of(s, gpu, "error.all");
    return text ? atoi(text) : NVML_SUCCESS;
}

static nvmlReturn_t device_refusal(const scenario_t *s, const device_t *d, int gpu,
                                   const char *function, int kind)
{
    if (d->index < 0 || d->state == STATE_LOST)
        return NVML_ERROR_GPU_IS_LOST;
    if (d->state == STATE_RESET_REQUIRED && !(kind & IDENTITY))
        return NVML_ERROR_RESET_REQUIRED;
    if (d->not_supported && lists(d->not_supported, function))
        return NVML_ERROR_NOT_SUPPORTED;
    return ordered_error(s, gpu, function);
}

static int hangs(const device_t *d, const char *function, int kind)
{
    if (d->state != STATE_HANG || d->index < 0)
        return 0;
    return d->hang_calls ? lists(d->hang_calls, function) : !(kind & IDENTITY);
}

/* Enter with the scenario held, or return why not. `device` is NULL for calls about the system. */
static nvmlReturn_t enter(call_t *call, const char *function, nvmlDevice_t device, int about_device,
                          int kind)
{
    const struct handle *first = &handles[0][0], *last = first + sizeof handles / sizeof *first;
    int slept = 0;
    for (;;) {
        refresh();
        if (!current)
            return NVML_ERROR_DRIVER_NOT_LOADED;
        pthread_rwlock_rdlock(&scenario_lock);
        const scenario_t *s = current;
        long wait_ms = s->hang ? HANG_NAP_MS : 0;
        if (!wait_ms) {
            if (!started && !(kind & UNSTARTED))
                return leave(NVML_ERROR_UNINITIALIZED);
            if (s->absent && lists(s->absent, function))
                return leave(NVML_ERROR_FUNCTION_NOT_FOUND);
            nvmlReturn_t code = ordered_error(s, -1, function);
            if (code != NVML_SUCCESS)
                return leave(code);
            *call = (call_t){s, -1, -1};
            if (!about_device)
                return NVML_SUCCESS;
            if (device < first || device >= last)
                return leave(NVML_ERROR_INVALID_ARGUMENT);
            call->gpu = device->gpu;
            call->mig = device->mig;
            const device_t *d = &s->devices[device->gpu];
            if (hangs(d, function, kind))
                wait_ms = HANG_NAP_MS;
            else if (d->slow_ms && !slept++)
                wait_ms = d->slow_ms;
            else {
                code = device_refusal(s, d, device->gpu, function, kind);
                if (code == NVML_SUCCESS && device->mig >= 0 && !(kind & ON_MIG))
                    code = NVML_ERROR_NOT_SUPPORTED;
                return code == NVML_SUCCESS ? code : leave(code);
            }
        }
        pthread_rwlock_unlock(&scenario_lock);
        nap(wait_ms);
    }
}

#define ENTER(kind)                                                                                \
    call_t call;                                                                                   \
    nvmlReturn_t code = enter(&call, __func__, NULL, 0, kind);                                     \
    if (code != NVML_SUCCESS)                                                                      \
        return code

#define ENTER_DEVICE(device, kind)                                                                 \
    call_t call;                                                                                   \
    nvmlReturn_t code = enter(&call, __func__, device, 1, kind);                                   \
    if (code != NVML_SUCCESS)                                                                      \
        return code

static nvmlReturn_t get_uint(const call_t *call, const char *key, unsigned *out)
{
    unsigned long long value = 0;
    nvmlReturn_t code = number(call->s, call->gpu, key, &value);
    if (code == NVML_SUCCESS)
        *out = (unsigned)value;
    return code;
}

static nvmlReturn_t get_text(const call_t *call, const char *key, char *out, unsigned length)
{
    const char *text = value_of(call->s, call->gpu, key);
    if (!text)
        return NVML_ERROR_NOT_SUPPORTED;
    if (*text == '!')
        return atoi(text + 1);
    if (strlen(text) + 1 > length)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

#endif
