import { sharedPace } from "@proviso/runtime/routing";
import { fakeClock } from "@proviso/runtime/testing";
import { describePace } from "./pace-contract.ts";

describePace("of one process", (options) => {
  const clock = fakeClock();
  let behindMs = 0;
  return {
    pace: sharedPace({ ...options, clock: { now: () => clock.now() - behindMs, sleep: clock.sleep } }),
    advance: (ms) => clock.advance(ms),
    setBack: async (ms) => void (behindMs += ms),
  };
});
