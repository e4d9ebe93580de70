import type { Clock, EvaluateOptions, Pace, Pacing, ProviderAdapter } from "@proviso/core";
import { internalsOf } from "@proviso/runtime/internal";
import { sharedPacing } from "@proviso/runtime/routing";
import { Door, stateOf } from "./door.ts";
import type { RunOptions } from "./options.ts";

/** The pacing of a run, and the lanes that it has used. */
export class Lanes {
  /** What the evaluations of the run are given. */
  readonly pacing: NonNullable<EvaluateOptions["pacing"]>;
  readonly #given: NonNullable<EvaluateOptions["pacing"]>;
  readonly #clock: Clock;
  /** The requests of workers have their pace where they are made. */
  readonly #isElsewhere: boolean;
  readonly #doors = new Map<ProviderAdapter, Door>();
  readonly #ofPaces = new Map<Pace, Door>();
  readonly #used = new Map<string, Pace>();
  readonly #known = new Set<Pace>();

  constructor({ pacing: given, random, workers }: RunOptions, clock: Clock) {
    const pacing = given ?? sharedPacing({ clock, ...(random === undefined ? {} : { random }) });
    this.#isElsewhere = workers !== undefined;
    this.#given = pacing;
    this.#clock = clock;
    if (pacing !== "off" && "enter" in pacing) this.#used.set("all", pacing);
    this.pacing = pacing === "off" || "enter" in pacing ? pacing : this.#counted(pacing);
  }

  /** The door of an adapter's lane; undefined: its requests have no pace here. */
  door(adapter: ProviderAdapter): Door | undefined {
    const known = this.#doors.get(adapter);
    if (known !== undefined) return known;
    const facts = internalsOf(adapter)?.facts;
    if (this.#given === "off" || facts === undefined || this.#isElsewhere) return undefined;
    const pace = "enter" in this.#given ? this.#given : this.#given.lane(facts.name, facts.model);
    const door = this.#ofPaces.get(pace) ?? new Door(pace, this.#clock);
    this.#ofPaces.set(pace, door);
    this.#doors.set(adapter, door);
    return door;
  }

  /** Requests a second that each lane allows now; a lane that is not limited is left out. */
  perSecond(): Readonly<Record<string, number>> {
    const rates: [string, number][] = [];
    for (const [name, pace] of this.#used) {
      const { requestsPerMinute, share = 1 } = stateOf(pace) ?? {};
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
