import type { FileRef, Message, Slice } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import type { Secrets, Redact } from "../secrets.ts";
import { redactionOf } from "../secrets/structure.ts";
import { misfitOf, unsavable } from "../session/session-json.ts";
import type { SavedConversation } from "./saved.ts";

/** The conversation without the secrets: in texts, arguments, results and states, not in ids, roles and names of slices. */
export function withoutSecrets(
  saved: SavedConversation,
  secrets: Secrets | undefined,
  slices: readonly Slice[],
): SavedConversation {
  if (secrets === undefined) return saved;
  return {
    ...saved,
    session: withoutSecretStates(saved.session, redactionOf(secrets).value, slices),
    messages: messagesWithoutSecrets(saved.messages, secrets),
  };
}

/** The messages without the secrets, as `parseMessages` takes them. */
export function messagesWithoutSecrets(given: readonly Message[], secrets: Secrets | undefined): readonly Message[] {
  if (secrets === undefined) return given;
  const { details, value } = redactionOf(secrets);
  const { messages } = details({ messages: given });
  return messages.map((message, index) => withPlaces(message, given[index] as Message, value));
}

/** @throws {DefinitionError} for a state that its schema does not accept without its secrets: it could not be read again. */
function withoutSecretStates(session: unknown, redact: Redact, known: readonly Slice[]): unknown {
  // What `session.toJSON` returned.
  if (!isRecord(session) || !Array.isArray(session["slices"])) return session;
  const slices = (session["slices"] as readonly { readonly name: string; readonly state?: unknown }[]).map((slice) => {
    if (slice.state === undefined) return slice;
    const { name } = slice;
    const state = redact(slice.state);
    const of = known.find((each) => each.name === name);
    const misfit = of && misfitOf(of, state);
    if (misfit !== undefined) {
      throw unsavable(name, `${misfit}. Without its secrets its schema does not accept it: keep them out of the state`);
    }
    return { ...slice, state };
  });
  return { ...session, slices };
}

/** Moves the places in a text that has become shorter or longer: no file may stand behind its end. Hides what names files. */
function withPlaces(message: Message, given: Message, redact: Redact): Message {
  const isSame = message.text === given.text;
  if (isSame && given.files === undefined) return message;
  const { cacheAt, ...rest } = { cacheAt: undefined, ...message };
  const marked = isSame && cacheAt !== undefined ? { ...rest, cacheAt } : rest;
  if (given.files === undefined) return marked as Message;
  let least = 0;
  const files = given.files.map(({ at, file }) => {
    least = isSame ? at : Math.min(message.text.length, Math.max(least, redact(given.text.slice(0, at)).length));
    return { at: least, file: withoutSecretNames(file, redact) };
  });
  return { ...marked, files } as Message;
}

/** The bytes of a file are found by its hash, so its name may be another one. */
function withoutSecretNames(file: FileRef, redact: Redact): FileRef {
  const named = { ...file, name: redact(file.name) };
  if (named.kind === "link") return { ...named, url: redact(named.url) };
  return named.kind === "uploaded" ? { ...named, ids: redact(named.ids) } : named;
}
