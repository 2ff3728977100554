/* The part of NVML's public ABI that the stub speaks: codes, structures, nothing of the device.
 *
 * Layouts follow the public API reference and are held by tests against the ctypes structures of
 * nvidia-ml-py, the same bytes that any client reads.
 */
#ifndef RANKSCOPE_NVML_TYPES_H
#define RANKSCOPE_NVML_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int nvmlReturn_t;

enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_MEMORY = 20,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
};

/* A structure's version word carries its size, so that old clients can be told from new ones. */
#define VERSION_OF(type, number) ((unsigned)(sizeof(type) | ((unsigned)(number) << 24)))

typedef struct handle *nvmlDevice_t;
typedef struct event_set *nvmlEventSet_t;
typedef struct gpm_sample *nvmlGpmSample_t;

typedef struct { unsigned long long total, free, used; } nvmlMemory_t;

typedef struct {
    unsigned version;
    unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct { unsigned gpu, memory; } nvmlUtilization_t;

typedef struct {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;

typedef struct { unsigned long long referenceTime, violationTime; } nvmlViolationTime_t;
typedef struct { unsigned version; int marginTemperature; } nvmlMarginTemperature_t;
typedef struct { unsigned max, high, partial, low, none; } nvmlRowRemapperHistogramValues_t;

typedef union {
    double dVal;
    unsigned uiVal;
    unsigned long ulVal;
    unsigned long long ullVal;
    long long sllVal;
    int siVal;
    unsigned short usVal;
} nvmlValue_t;

enum { VALUE_DOUBLE = 0, VALUE_UNSIGNED_INT = 1, VALUE_UNSIGNED_LONG_LONG = 3, VALUE_SIGNED_INT = 5 };

typedef struct {
    unsigned fieldId, scopeId;
    long long timestamp, latencyUsec;
    unsigned valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;

typedef struct {
    unsigned pid;
    unsigned long long usedGpuMemory;
    unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

typedef struct {
    unsigned pid;
    unsigned long long timeStamp;
    unsigned smUtil, memUtil, encUtil, decUtil;
} nvmlProcessUtilizationSample_t;

typedef struct {
    nvmlDevice_t device;
    unsigned long long eventType, eventData;
    unsigned gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

#define EVENT_XID_CRITICAL 0x8ULL

/* GPU Operational Events (R620): what is registered for, what a wait tells, its legacy XID. */
typedef struct { char uuid[96]; unsigned minLogLevel, minSeverity; } nvmlGpuOperationalEventConfig_v1_t;

typedef struct {
    unsigned timeoutMs, dataType;
    char uuid[96], sourceModule[16];
    unsigned long long eventType, eventData, groupCursor, instanceId, timestampUsec, traceId;
    unsigned gpuInstanceId, computeInstanceId, severity, categoryId, moduleEventCode, scope;
    unsigned originator, moduleInstance, chipletId, logLevel, attributes, groupCperSize;
    unsigned groupAttributes;
    unsigned char groupSize, groupIndex;
} nvmlEventSetWait_v3_t;

typedef struct { unsigned count; } nvmlEventSetGetContextCount_v1_t;

typedef struct {
    unsigned index, nvmlGpuOperationalEventContextType, sourceEventContextType, dataSize;
    unsigned short dataFormatVersion;
} nvmlEventSetGetContextInfo_v1_t;

typedef struct { unsigned index, xidCode; } nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1_t;

typedef struct {
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned cliqueId;
    unsigned char state;
} nvmlGpuFabricInfo_t;

typedef struct {
    unsigned version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned cliqueId;
    unsigned char state;
    unsigned healthMask;
} nvmlGpuFabricInfo_v2_t;

typedef struct {
    unsigned version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned cliqueId;
    unsigned char state;
    unsigned healthMask;
    unsigned char healthSummary;
} nvmlGpuFabricInfo_v3_t;

typedef struct { unsigned version, isSupportedDevice; } nvmlGpmSupport_t;

typedef struct {
    unsigned metricId;
    nvmlReturn_t nvmlReturn;
    double value;
    struct { char *shortName, *longName, *unit; } metricInfo;
} nvmlGpmMetric_t;

/* The array's length differs between releases of the API; only `numMetrics` of it are touched. */
typedef struct {
    unsigned version, numMetrics;
    nvmlGpmSample_t sample1, sample2;
    nvmlGpmMetric_t metrics[1];
} nvmlGpmMetricsGet_t;

#endif
