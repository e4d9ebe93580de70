import type { Clock } from "@proviso/core";
import type { Run } from "../run.ts";

/** The clock that goes on while a request is under way: that of a recorded run moves with its entries alone. */
export function liveClock({ tape, world }: Pick<Run, "tape" | "world">): Clock {
  return tape?.clock ?? world.clock;
}
