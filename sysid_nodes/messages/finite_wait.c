// SPDX-License-Identifier: Apache-2.0
// Lets a process leave DDS that would otherwise hang there for ever.
//
// A participant that is destroyed waits until none of its listener's callbacks runs, up to the latest time that there
// is (DomainParticipant::set_listener, Fast DDS 2.14). Compiled for glibc before 2.30, as the wheels on PyPI are, that
// time overflows: the wait fails at once, is asked for again, and never gives the mutex back that the callback needs
// (eProsima/Fast-DDS, issue 6513). Whoever ends while another participant is being discovered hangs, with the
// interpreter locked and a core busy. Loaded before rmw_fastrtps, this is called in its place and says how long.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SET_LISTENER "_ZN8eprosima7fastdds3dds17DomainParticipant12set_listenerEPNS1_25DomainParticipantListenerE"
#define FOR_SECONDS "NSt6chrono8durationIlSt5ratioILl1ELl1EEEE"

static const int64_t longest = 60;  // [s]; callbacks take well below a millisecond

// ReturnCode_t DomainParticipant::set_listener(DomainParticipantListener*, std::chrono::seconds)
typedef uint32_t (*set_listener_for)(void* participant, void* listener, int64_t seconds);

int sysid_finite_waits = 0;  // how often it was called, for tests

// ReturnCode_t DomainParticipant::set_listener(DomainParticipantListener*)
uint32_t set_listener(void* participant, void* listener) __asm__(SET_LISTENER);

uint32_t set_listener(void* participant, void* listener) {
  static const uint32_t error = 1;
  void* fast_dds = dlopen("libfastrtps.so.2.14", RTLD_LAZY | RTLD_NOLOAD);
  set_listener_for real = fast_dds ? (set_listener_for)dlsym(fast_dds, SET_LISTENER FOR_SECONDS) : 0;
  ++sysid_finite_waits;
  return real ? real(participant, listener, longest) : error;
}
