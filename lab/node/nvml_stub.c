/* A libnvidia-ml.so.1 without a GPU: what the agent reads of NVML, answered from a scenario file.
 *
 * Written from the public API reference and the calls that nvidia-ml-py makes; it holds no code of
 * the real library and proves nothing about a real driver's timing or locks. What it can prove is
 * how a client behaves when a driver answers, refuses, lags, hangs, loses a device or renumbers.
 * Keys are those read below; the profiles beside this file show a full set.
 */
#include "nvml_gate.h"

/* -- the library ------------------------------------------------------------------------------ */

static nvmlReturn_t start(const char *function)
{
    call_t call;
    nvmlReturn_t code = enter(&call, function, NULL, 0, UNSTARTED);
    if (code != NVML_SUCCESS)
        return code;
    started++;
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlInit_v2(void) { return start(__func__); }
PUBLIC nvmlReturn_t nvmlInitWithFlags(unsigned flags) { (void)flags; return start(__func__); }

PUBLIC nvmlReturn_t nvmlShutdown(void)
{
    ENTER(0);
    started--;
    return leave(NVML_SUCCESS);
}

PUBLIC const char *nvmlErrorString(nvmlReturn_t code)
{
    switch (code) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT: return "Timeout";
    case NVML_ERROR_FUNCTION_NOT_FOUND: return "Function Not Found";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED: return "GPU requires restart";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
    }
}

#define SYSTEM_TEXT(function, key)                                                                 \
    PUBLIC nvmlReturn_t function(char *out, unsigned length)                                       \
    {                                                                                              \
        ENTER(UNSTARTED);                                                                          \
        return leave(get_text(&call, key, out, length));                                           \
    }

SYSTEM_TEXT(nvmlSystemGetDriverVersion, "driver_version")
SYSTEM_TEXT(nvmlSystemGetNVMLVersion, "nvml_version")

PUBLIC nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *out)
{
    ENTER(UNSTARTED);
    return leave(get_uint(&call, "cuda_version", (unsigned *)out));
}

PUBLIC nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    ENTER(UNSTARTED);
    return leave(get_uint(&call, "cuda_version", (unsigned *)out));
}

/* -- which devices there are ------------------------------------------------------------------ */

PUBLIC nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count)
{
    ENTER(0);
    *count = (unsigned)call.s->count;
    return leave(NVML_SUCCESS);
}

/* Give out a handle; the caller is inside the gate. A lost device is not given out, a hung one is
 * unless `hang_calls` names the look-up, since a library knows its devices from its start. */
static nvmlReturn_t give(const scenario_t *s, int gpu, const char *function, nvmlDevice_t *out)
{
    (void)s;
    leave(NVML_SUCCESS);
    nvmlDevice_t found = handle_of(gpu, -1);
    call_t call;
    nvmlReturn_t code = enter(&call, function, found, 1, IDENTITY);
    if (code != NVML_SUCCESS)
        return code;
    *out = found;
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out)
{
    ENTER(0);
    if (index >= (unsigned)call.s->count)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    return give(call.s, call.s->at_index[index], __func__, out);
}

/* Compare bus addresses as the driver does: a domain of four or eight digits, any case. */
static int same_bus(const char *a, const char *b)
{
    unsigned x[4], y[4];
    return sscanf(a, "%x:%x:%x.%x", x, x + 1, x + 2, x + 3) == 4 &&
           sscanf(b, "%x:%x:%x.%x", y, y + 1, y + 2, y + 3) == 4 && !memcmp(x, y, sizeof x);
}

PUBLIC nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvmlDevice_t *out)
{
    ENTER(0);
    for (int i = 0; i < call.s->count; i++) {
        const char *pci = value_of(call.s, call.s->at_index[i], "pci");
        if (pci && same_bus(pci, bus))
            return give(call.s, call.s->at_index[i], __func__, out);
    }
    return leave(NVML_ERROR_NOT_FOUND);
}

PUBLIC nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out)
{
    ENTER(0);
    for (int i = 0; i < call.s->count; i++) {
        int gpu = call.s->at_index[i];
        const char *mine = value_of(call.s, gpu, "uuid");
        if (mine && !strcmp(mine, uuid))
            return give(call.s, gpu, __func__, out);
        for (int mig = 0; mig < MAX_MIG; mig++) {
            char key[16];
            snprintf(key, sizeof key, "mig.%d", mig);
            const char *text = value_of(call.s, gpu, key);
            size_t length = text ? strcspn(text, " :") : 0;
            if (length && length == strlen(uuid) && !strncmp(text, uuid, length)) {
                *out = handle_of(gpu, mig);
                return leave(NVML_SUCCESS);
            }
        }
    }
    return leave(NVML_ERROR_NOT_FOUND);
}

PUBLIC nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *out)
{
    ENTER_DEVICE(device, IDENTITY);
    *out = (unsigned)call.s->devices[call.gpu].index;
    return leave(NVML_SUCCESS);
}

/* -- MIG: "mig.0 = <uuid>:<gpu instance>:<compute instance>:<bytes used>:<bytes in all>" -------- */

typedef struct { char uuid[96]; unsigned gi, ci; unsigned long long used, total; } mig_t;

static int mig_at(const scenario_t *s, int gpu, int mig, mig_t *out)
{
    char key[16];
    snprintf(key, sizeof key, "mig.%d", mig);
    const char *text = value_of(s, gpu, key);
    return text && sscanf(text, "%95[^:]:%u:%u:%llu:%llu", out->uuid, &out->gi, &out->ci,
                          &out->used, &out->total) == 5;
}

PUBLIC nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *now, unsigned *pending)
{
    ENTER_DEVICE(device, ON_DEVICE);
    code = get_uint(&call, "mig_mode", now);
    if (code == NVML_SUCCESS && get_uint(&call, "mig_pending", pending) != NVML_SUCCESS)
        *pending = *now;
    return leave(code);
}

PUBLIC nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned *out)
{
    ENTER_DEVICE(device, IDENTITY);
    *out = value_of(call.s, call.gpu, "mig_mode") ? 7 : 0;
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                        nvmlDevice_t *out)
{
    ENTER_DEVICE(device, IDENTITY);
    mig_t mig;
    if (index >= MAX_MIG)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (!mig_at(call.s, call.gpu, (int)index, &mig))
        return leave(NVML_ERROR_NOT_FOUND);
    *out = handle_of(call.gpu, (int)index);
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig,
                                                                 nvmlDevice_t *out)
{
    ENTER_DEVICE(mig, IDENTITY | ON_MIG);
    *out = handle_of(call.gpu, -1);
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *out)
{
    ENTER_DEVICE(device, IDENTITY | ON_MIG);
    *out = call.mig >= 0;
    return leave(NVML_SUCCESS);
}

#define MIG_ID(function, member)                                                                   \
    PUBLIC nvmlReturn_t function(nvmlDevice_t device, unsigned *out)                               \
    {                                                                                              \
        ENTER_DEVICE(device, IDENTITY | ON_MIG);                                                   \
        mig_t mig;                                                                                 \
        if (call.mig < 0 || !mig_at(call.s, call.gpu, call.mig, &mig))                             \
            return leave(NVML_ERROR_NOT_SUPPORTED);                                                \
        *out = mig.member;                                                                         \
        return leave(NVML_SUCCESS);                                                                \
    }

MIG_ID(nvmlDeviceGetGpuInstanceId, gi)
MIG_ID(nvmlDeviceGetComputeInstanceId, ci)

/* -- what a device is ------------------------------------------------------------------------- */

#define DEVICE_TEXT(function, key, kind)                                                           \
    PUBLIC nvmlReturn_t function(nvmlDevice_t device, char *out, unsigned length)                  \
    {                                                                                              \
        ENTER_DEVICE(device, kind);                                                                \
        return leave(get_text(&call, key, out, length));                                           \
    }

#define DEVICE_UINT(function, key, kind)                                                           \
    PUBLIC nvmlReturn_t function(nvmlDevice_t device, unsigned *out)                               \
    {                                                                                              \
        ENTER_DEVICE(device, kind);                                                                \
        return leave(get_uint(&call, key, out));                                                   \
    }

#define DEVICE_ULONG(function, key)                                                                \
    PUBLIC nvmlReturn_t function(nvmlDevice_t device, unsigned long long *out)                     \
    {                                                                                              \
        ENTER_DEVICE(device, ON_DEVICE);                                                           \
        return leave(number(call.s, call.gpu, key, out));                                          \
    }

DEVICE_TEXT(nvmlDeviceGetName, "name", IDENTITY | ON_MIG)
DEVICE_TEXT(nvmlDeviceGetSerial, "serial", IDENTITY)
DEVICE_TEXT(nvmlDeviceGetVbiosVersion, "vbios", ON_DEVICE)
DEVICE_TEXT(nvmlDeviceGetInforomImageVersion, "inforom", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetMinorNumber, "minor", IDENTITY)
DEVICE_UINT(nvmlDeviceGetPersistenceMode, "persistence", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetPerformanceState, "pstate", ON_DEVICE)
DEVICE_UINT(nvmlDeviceGetNumGpuCores, "cores", ON_DEVICE)

PUBLIC nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    ENTER_DEVICE(device, IDENTITY);
    const char *text = value_of(call.s, call.gpu, "compute_capability");
    return leave(text && sscanf(text, "%d.%d", major, minor) == 2 ? NVML_SUCCESS
                                                                  : NVML_ERROR_NOT_SUPPORTED);
}

PUBLIC nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *out, unsigned length)
{
    ENTER_DEVICE(device, IDENTITY | ON_MIG);
    mig_t mig;
    if (call.mig < 0)
        return leave(get_text(&call, "uuid", out, length));
    if (!mig_at(call.s, call.gpu, call.mig, &mig))
        return leave(NVML_ERROR_NOT_FOUND);
    if (strlen(mig.uuid) + 1 > length)
        return leave(NVML_ERROR_INSUFFICIENT_SIZE);
    strcpy(out, mig.uuid);
    return leave(NVML_SUCCESS);
}

PUBLIC nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *out)
{
    ENTER_DEVICE(device, IDENTITY);
    const char *pci = value_of(call.s, call.gpu, "pci");
    unsigned function;
    memset(out, 0, sizeof *out);
    if (!pci || sscanf(pci, "%x:%x:%x.%x", &out->domain, &out->bus, &out->device, &function) != 4)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    get_uint(&call, "pci_device_id", &out->pciDeviceId);
    get_uint(&call, "pci_subsystem_id", &out->pciSubSystemId);
    snprintf(out->busId, sizeof out->busId, "%08X:%02X:%02X.%X", out->domain, out->bus, out->device,
             function);
    snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "%04X:%02X:%02X.%X",
             out->domain & 0xffff, out->bus & 0xff, out->device & 0xff, function & 0xf);
    return leave(NVML_SUCCESS);
}

#include "nvml_readings.h"
#include "nvml_links.h"
#include "nvml_fields.h"
#include "nvml_events.h"
#include "nvml_operational.h"
