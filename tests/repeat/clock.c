/*
 * Loaded into a process (LD_PRELOAD), it shows a time of day that is BARID_CLOCK_SECONDS later than the machine's, or earlier. Time that
 * is measured, timers and waits stay as they are: programs that are given another time of day here measure waits by the monotonic clock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long seconds;
static int (*machine_time)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("BARID_CLOCK_SECONDS");
  seconds = text ? atol(text) : 0;
  machine_time = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int code = machine_time ? machine_time(clock, now) : (int)syscall(SYS_clock_gettime, clock, now);
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += seconds;
  return code;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise;
  (void)zone;
  int code = clock_gettime(CLOCK_REALTIME, &precise);
  if (code == 0 && now) {
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
  }
  return code;
}

time_t time(time_t *kept) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (kept) *kept = now.tv_sec;
  return now.tv_sec;
}
