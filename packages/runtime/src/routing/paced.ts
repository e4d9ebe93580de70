import { DefinitionError, type Pace, type Pacing, type ProviderAdapter } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkIsObject } from "../evaluate-options.ts";
import { internalsOf } from "../nested/adapter-internals.ts";
import { sharedPace } from "./pace.ts";
import type { PaceOptions } from "./pace-options.ts";

/**
 * An adapter whose requests go out at the pace that its service allows, first come, first served. Several adapters over
 * one key share a `pace`; left out, or given as options, the adapter has one of its own.
 * @throws {DefinitionError} for an adapter that modelAdapter did not make, an agent for example: that asks its model
 * itself; and for what is neither a pace nor options of one.
 */
export function paced(adapter: ProviderAdapter, pace: Pace | PaceOptions = {}): ProviderAdapter {
  const internals = internalsOf(adapter);
  if (internals?.facts.isModel !== true) {
    throw new DefinitionError(
      `paced needs an adapter that modelAdapter made, openai(…) for example: not ${describeValue(adapter)}. ` +
        "An agent asks its model itself.",
    );
  }
  checkIsObject("paced", pace);
  return internals.atPace("enter" in pace ? pace : sharedPace(pace));
}

/** Paces for any number of adapters and models, each learnt from its own answers: for `EvaluateOptions.pacing`. */
export function sharedPacing(options: PaceOptions = {}): Pacing {
  // Options that cannot be are refused here, not with the first request.
  sharedPace(options);
  const lanes = new Map<string, Map<string, Pace>>();
  return {
    lane(adapter, model) {
      let byModel = lanes.get(adapter);
      if (byModel === undefined) lanes.set(adapter, (byModel = new Map()));
      let pace = byModel.get(model);
      if (pace === undefined) byModel.set(model, (pace = sharedPace(options)));
      return pace;
    },
  };
}
