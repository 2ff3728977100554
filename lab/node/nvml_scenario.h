/* The scenario file: flat "section.key = value" lines, looked at again while the library is in use.
 *
 * Sections are `global`, `all` (what every device has) and `gpu0`, `gpu1`, ... (what one device has
 * instead). A value is a text, a number, a number that grows ("100 +5.5/s @1763692000.25": 100 at
 * that second of the epoch, then 5.5 a second; without "@" since `global.epoch`), the word
 * `unsupported` (as if the key were not there) or "!15" (this reading fails with code 15).
 * The file is checked for change at most every 20 ms, so a call costs no system call as a rule;
 * with RANKSCOPE_NVML_STUB_EAGER set, at every call. Numbers grow by the machine's clock, or by
 * `global.now` (seconds of the epoch) where the file tells the time itself.
 */
#ifndef RANKSCOPE_NVML_SCENARIO_H
#define RANKSCOPE_NVML_SCENARIO_H

#include <ctype.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nvml_types.h"

#define MAX_GPUS 64
#define CHECK_EVERY_NS 20000000LL

enum { GLOBAL = 0, ALL = 1, FIRST_GPU = 2 };
enum state { STATE_OK, STATE_LOST, STATE_RESET_REQUIRED, STATE_HANG };

typedef struct { uint64_t hash; int section; const char *key, *value; } entry_t;

/* What the gate asks at each call, worked out once a load. */
typedef struct {
    enum state state;
    int index;                 /* where the driver counts it now; -1: not there */
    long slow_ms;
    const char *hang_calls, *not_supported;
} device_t;

typedef struct {
    char *text;
    entry_t *table;
    size_t mask;
    double epoch, now;         /* now: what the file says that it is, 0: it does not */
    int hang, has_errors, count;
    const char *absent;
    device_t devices[MAX_GPUS];
    int at_index[MAX_GPUS];
} scenario_t;

static scenario_t *_Atomic current;
static pthread_rwlock_t scenario_lock;
static pthread_mutex_t reload_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic long long checked_at;
static long long check_every = CHECK_EVERY_NS;
static struct stat loaded;

static long long nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (long long)t.tv_sec * 1000000000LL + t.tv_nsec;
}

static double epoch_now(void) { return (double)nanoseconds(CLOCK_REALTIME) / 1e9; }

static uint64_t hash_of(int section, const char *key)
{
    uint64_t hash = 1469598103934665603ULL ^ (uint64_t)(unsigned)section;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 1099511628211ULL;
    return hash ^ (hash >> 29);
}

static const char *raw(const scenario_t *s, int section, const char *key)
{
    uint64_t hash = hash_of(section, key);
    for (size_t at = hash & s->mask; s->table[at].key; at = (at + 1) & s->mask)
        if (s->table[at].hash == hash && s->table[at].section == section &&
            !strcmp(s->table[at].key, key))
            return s->table[at].value;
    return NULL;
}

/* What a device says under this key: its own line, else the line for all. NULL: not supported. */
static const char *value_of(const scenario_t *s, int gpu, const char *key)
{
    const char *found = raw(s, gpu < 0 ? GLOBAL : FIRST_GPU + gpu, key);
    if (!found && gpu >= 0)
        found = raw(s, ALL, key);
    return found && strcmp(found, "unsupported") ? found : NULL;
}

/* Turn a value's text into a number; the code that the text stands for. */
static nvmlReturn_t number_in(const scenario_t *s, const char *text, unsigned long long *out)
{
    char *rest;
    if (!text)
        return NVML_ERROR_NOT_SUPPORTED;
    if (*text == '!')
        return atoi(text + 1);
    *out = *text == '-' ? (unsigned long long)strtoll(text, &rest, 0) : strtoull(text, &rest, 0);
    if (*rest == '.') /* "95.5" where the API wants a whole number */
        strtod(text, &rest);
    while (*rest == ' ')
        rest++;
    if (*rest == '+' || *rest == '-') {
        double rate = strtod(rest, &rest), since = s->epoch;
        char *at = strchr(rest, '@');
        if (at)
            since = strtod(at + 1, NULL);
        double grown = rate * ((s->now > 0 ? s->now : epoch_now()) - since);
        *out += (unsigned long long)(long long)grown;
    }
    return NVML_SUCCESS;
}

static nvmlReturn_t number(const scenario_t *s, int gpu, const char *key, unsigned long long *out)
{
    return number_in(s, value_of(s, gpu, key), out);
}

/* Whether a comma-separated list names this function. */
static int lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += length) {
        int opens = at == list || at[-1] == ',' || at[-1] == ' ';
        if (opens && (at[length] == '\0' || at[length] == ',' || at[length] == ' '))
            return 1;
    }
    return 0;
}

static void insert(scenario_t *s, int section, const char *key, const char *value)
{
    uint64_t hash = hash_of(section, key);
    size_t at = hash & s->mask;
    while (s->table[at].key && !(s->table[at].section == section && !strcmp(s->table[at].key, key)))
        at = (at + 1) & s->mask;
    s->table[at] = (entry_t){hash, section, key, value};
}

static char *trimmed(char *from, char *end)
{
    while (from < end && isspace((unsigned char)*from))
        from++;
    while (end > from && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return from;
}

static void parse_line(scenario_t *s, char *line, char *end)
{
    char *equals = memchr(line, '=', (size_t)(end - line));
    if (!equals)
        return;
    char *name = trimmed(line, equals), *value = trimmed(equals + 1, end);
    char *dot = strchr(name, '.');
    if (*name == '#' || !dot)
        return;
    *dot = '\0';
    int section = !strcmp(name, "global") ? GLOBAL : !strcmp(name, "all") ? ALL : -1;
    if (section < 0 && !strncmp(name, "gpu", 3)) {
        int number = atoi(name + 3);
        if (number >= 0 && number < MAX_GPUS)
            section = FIRST_GPU + number;
    }
    if (section < 0)
        return;
    if (!strncmp(dot + 1, "error.", 6))
        s->has_errors = 1;
    insert(s, section, dot + 1, value);
}

/* Find which device a word of `global.order` means: "gpu3", or a UUID. */
static int device_named(const scenario_t *s, const char *word)
{
    if (!strncmp(word, "gpu", 3) && isdigit((unsigned char)word[3]))
        return atoi(word + 3);
    for (int gpu = 0; gpu < MAX_GPUS; gpu++) {
        const char *uuid = raw(s, FIRST_GPU + gpu, "uuid");
        if (uuid && !strcmp(uuid, word))
            return gpu;
    }
    return -1;
}

static void work_out_order(scenario_t *s)
{
    const char *order = raw(s, GLOBAL, "order");
    unsigned long long gpus = 0;
    number(s, -1, "gpus", &gpus);
    for (int gpu = 0; gpu < MAX_GPUS; gpu++)
        s->devices[gpu].index = -1;
    if (!order) {
        for (int gpu = 0; gpu < (int)gpus && gpu < MAX_GPUS; gpu++)
            s->at_index[s->devices[gpu].index = s->count++] = gpu;
        return;
    }
    char *words = strdup(order), *save = NULL;
    for (char *word = strtok_r(words, ", ", &save); word; word = strtok_r(NULL, ", ", &save)) {
        int gpu = device_named(s, word);
        if (gpu >= 0 && gpu < MAX_GPUS && s->devices[gpu].index < 0)
            s->at_index[s->devices[gpu].index = s->count++] = gpu;
    }
    free(words);
}

static void work_out(scenario_t *s)
{
    unsigned long long n = 0;
    const char *epoch = raw(s, GLOBAL, "epoch");
    const char *told = raw(s, GLOBAL, "now");
    s->epoch = epoch ? strtod(epoch, NULL) : epoch_now();
    s->now = told ? strtod(told, NULL) : 0;
    s->hang = number(s, -1, "hang", &n) == NVML_SUCCESS && n;
    s->absent = value_of(s, -1, "absent");
    for (int gpu = 0; gpu < MAX_GPUS; gpu++) {
        device_t *d = &s->devices[gpu];
        const char *state = value_of(s, gpu, "state");
        d->state = !state ? STATE_OK
                   : !strcmp(state, "lost") ? STATE_LOST
                   : !strcmp(state, "reset_required") ? STATE_RESET_REQUIRED
                   : !strcmp(state, "hang") ? STATE_HANG : STATE_OK;
        n = 0;
        number(s, gpu, "slow_ms", &n);
        d->slow_ms = (long)n;
        d->hang_calls = value_of(s, gpu, "hang_calls");
        d->not_supported = value_of(s, gpu, "not_supported");
    }
    work_out_order(s);
}

static scenario_t *load(int file, size_t size)
{
    scenario_t *s = calloc(1, sizeof *s);
    s->text = calloc(1, size + 1);
    size_t got = 0, lines = 1;
    for (ssize_t n; got < size && (n = read(file, s->text + got, size - got)) > 0;)
        got += (size_t)n;
    for (size_t i = 0; i < got; i++)
        lines += s->text[i] == '\n';
    size_t slots = 64;
    while (slots < 2 * lines)
        slots *= 2;
    s->mask = slots - 1;
    s->table = calloc(slots, sizeof *s->table);
    for (char *line = s->text, *end; line < s->text + got; line = end + 1) {
        end = memchr(line, '\n', (size_t)(s->text + got - line));
        if (!end)
            end = s->text + got;
        parse_line(s, line, end);
    }
    work_out(s);
    return s;
}

static int same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_dev == b->st_dev &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Read the file again if it has changed. A file that is gone leaves the last scenario in force. */
static void refresh(void)
{
    long long now = nanoseconds(CLOCK_MONOTONIC);
    if (current && now - atomic_load(&checked_at) < check_every)
        return;
    pthread_mutex_lock(&reload_lock);
    if (!current || now - atomic_load(&checked_at) >= check_every) {
        const char *path = getenv("RANKSCOPE_NVML_STUB");
        struct stat found;
        int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file >= 0 && !fstat(file, &found) && !(current && same_file(&found, &loaded))) {
            scenario_t *next = load(file, (size_t)found.st_size), *last;
            pthread_rwlock_wrlock(&scenario_lock);
            last = current;
            current = next;
            pthread_rwlock_unlock(&scenario_lock);
            loaded = found;
            if (last) {
                free(last->text);
                free(last->table);
                free(last);
            }
        }
        if (file >= 0)
            close(file);
        atomic_store(&checked_at, now);
    }
    pthread_mutex_unlock(&reload_lock);
}

__attribute__((constructor)) static void prepare(void)
{
    if (getenv("RANKSCOPE_NVML_STUB_EAGER"))
        check_every = 0;
    pthread_rwlockattr_t how;
    pthread_rwlockattr_init(&how);
    /* A new scenario must get in although eight threads never stop reading. */
    pthread_rwlockattr_setkind_np(&how, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&scenario_lock, &how);
}

#endif
