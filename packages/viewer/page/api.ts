// What the page asks of its server. The token is kept in this tab alone.

const key = "proviso.viewer.token";

/** Takes the token from the address, and out of it. What stands behind it, `&/run/<id>` say, is the view to begin with. */
export function takeToken(): void {
  const [, token, view = "/"] = /^#t=([\w-]+)(?:&(\/.*))?$/.exec(location.hash) ?? [];
  if (token === undefined) return;
  sessionStorage.setItem(key, token);
  history.replaceState(null, "", `#${view}`);
}

class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function asked(path: string, signal?: AbortSignal): Promise<Response> {
  const authorization = `Bearer ${sessionStorage.getItem(key) ?? ""}`;
  const response = await fetch(`/api/${path}`, { headers: { authorization }, ...(signal && { signal }) }).catch(
    (error: unknown) => {
      if (signal?.aborted === true) throw error;
      throw new ApiError(0, "The viewer does not answer: its process has ended.");
    },
  );
  if (response.ok) return response;
  const why =
    response.status === 401 ? "Open the whole address that the command printed, with what follows the #." : "";
  throw new ApiError(response.status, (await response.text()) || why || `The viewer answered ${response.status}.`);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await asked(path, signal)).json()) as T;
}

/** Calls back with each message, and connects again where the stream breaks. Returns what ends it. */
export function live<T>(
  path: () => string,
  onMessage: (message: T) => void,
  onState: (isLive: boolean) => void,
): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      await streamed(path(), signal, onMessage, onState).catch(() => {});
      if (signal.aborted) return;
      onState(false);
      await new Promise((done) => setTimeout(done, 1_000));
    }
  };
  void run();
  return () => ending.abort();
}

async function streamed<T>(
  path: string,
  signal: AbortSignal,
  onMessage: (message: T) => void,
  onState: (isLive: boolean) => void,
): Promise<void> {
  const response = await asked(path, signal);
  onState(true);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || value === undefined) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part.startsWith("data: ")) onMessage(JSON.parse(part.slice(6)) as T);
  }
}

/** A run of which a part is asked for; `begunBy`: where another one has its id by now, that is refused. */
export interface Part {
  readonly id: string;
  readonly begunBy?: string | undefined;
}

/** The path of a part of a run. */
export function pathTo({ id, begunBy }: Part, part: string, query: Parameters<typeof pathOf>[1] = {}): string {
  const { segment, ...named } = segmentOf(id);
  return pathOf(`run/${segment}/${part}`, { ...query, ...named, begunBy });
}

/** An id within a path. Dots alone would lead upwards, so they stand in the query. */
export function segmentOf(id: string): { readonly segment: string; readonly id?: string } {
  return id === "." || id === ".." ? { segment: "-", id } : { segment: encoded(id) };
}

/** Half of a surrogate pair, which an id of another store may have, cannot be in an address. */
export function encoded(id: string): string {
  return encodeURIComponent(id.toWellFormed());
}

/** A path with its query; what is undefined is left out. */
export function pathOf(
  path: string,
  query: Readonly<Record<string, string | number | boolean | undefined>> = {},
): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
