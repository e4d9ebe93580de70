import { DefinitionError } from "@proviso/core";
import { usualAnswer } from "../answer-lengths.ts";
import { optionFault } from "../failures.ts";
import { catalogWindow } from "../prices.ts";

/** Tokens that a model takes: all together, and of them those of a request. */
export interface Window {
  readonly window: number;
  /** The window without what one answer may take. */
  readonly room: number;
  /** The model's name. */
  readonly model: string;
}

/** A model with a window, or the models of a chain. */
export interface WindowedModel {
  readonly name: string;
  readonly model: string;
  readonly contextWindow?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** The models of a chain, one of which gets the request; undefined: it is one model. */
  readonly takers?: readonly WindowedModel[] | undefined;
}

/** What a window is found by. */
export interface WindowSources {
  /** The policy's. */
  readonly given?: number | undefined;
  readonly provider: WindowedModel;
  /** Tokens of an answer at most, as the evaluation limits them; undefined: it does not. */
  readonly maxOutputTokens?: number | undefined;
}

/** What the catalog says, by the provider that it was asked for: it takes a millisecond to look up. */
const found = new WeakMap<object, Promise<number | undefined>>();

function fromCatalog(provider: WindowedModel): Promise<number | undefined> {
  const looking = found.get(provider) ?? catalogWindow(provider);
  found.set(provider, looking);
  return looking;
}

/**
 * The policy's window, else the provider's, else the catalog's; undefined where none of them knows it. Of a chain: that
 * of the model with the least room, of those that are known.
 */
export async function knownWindow(sources: WindowSources): Promise<Window | undefined> {
  const { given, provider, maxOutputTokens } = sources;
  if (provider.takers !== undefined) {
    const all = await Promise.all(provider.takers.map((taker) => knownWindow({ ...sources, provider: taker })));
    return all.filter((one) => one !== undefined).toSorted((one, other) => one.room - other.room)[0];
  }
  const window = given ?? provider.contextWindow ?? (await fromCatalog(provider));
  if (window === undefined) return undefined;
  const answer = maxOutputTokens ?? provider.maxOutputTokens ?? Math.min(usualAnswer, Math.floor(window / 4));
  return { window, room: window - answer, model: provider.model };
}

/** @throws {DefinitionError} where the window is not known; an option's fault where an answer may take all of it. */
export async function windowOf(sources: WindowSources): Promise<Window> {
  const known = await knownWindow(sources);
  if (known === undefined) {
    throw new DefinitionError(
      `The window of the model "${sources.provider.model}" is not known: give it in tokens as context.window, { window: 128_000 } for example.`,
    );
  }
  const { window, room, model } = known;
  if (room >= 1) return known;
  const message =
    `The window of "${model}", ${window} tokens, leaves no room beside an answer, which may take ${window - room}: ` +
    "give a larger context.window, or a smaller maxOutputTokens.";
  throw optionFault("context", new DefinitionError(message));
}
