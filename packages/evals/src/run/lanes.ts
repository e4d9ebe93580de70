import type { Clock, EvaluateOptions, Pace, Pacing } from "@proviso/core";
import { sharedPacing } from "@proviso/runtime/routing";

/** The pacing of a run, and the lanes that it has used. */
export class Lanes {
  /** What the evaluations of the run are given. */
  readonly pacing: NonNullable<EvaluateOptions["pacing"]>;
  readonly #used = new Map<string, Pace>();
  readonly #known = new WeakSet<Pace>();

  constructor(
    given: EvaluateOptions["pacing"],
    { clock, random }: { readonly clock: Clock; readonly random?: (() => number) | undefined },
  ) {
    const pacing = given ?? sharedPacing({ clock, ...(random === undefined ? {} : { random }) });
    if (pacing !== "off" && "enter" in pacing) this.#used.set("all", pacing);
    this.pacing = pacing === "off" || "enter" in pacing ? pacing : this.#counted(pacing);
  }

  /** Requests a second that each lane allows now; a lane that is not limited is left out. */
  perSecond(): Readonly<Record<string, number>> {
    const rates: [string, number][] = [];
    for (const [name, pace] of this.#used) {
      const { requestsPerMinute, share } = pace.state();
      if (requestsPerMinute !== undefined) rates.push([name, (requestsPerMinute * share) / 60]);
    }
    return Object.fromEntries(rates);
  }

  #counted(pacing: Pacing): Pacing {
    return {
      lane: (adapter, model) => {
        const pace = pacing.lane(adapter, model);
        if (this.#known.has(pace)) return pace;
        this.#known.add(pace);
        this.#used.set(`${adapter} ${model}`, pace);
        return pace;
      },
    };
  }
}
