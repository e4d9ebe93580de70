// Every view has an address behind "#".
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { encoded, pathOf, takeToken } from "./api.ts";

export interface Route {
  readonly view: "runs" | "run" | "compare" | "eval";
  readonly id: string;
  readonly query: URLSearchParams;
}

function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, id] = path.split("/");
  const params = new URLSearchParams(query);
  if ((view === "run" || view === "eval") && id !== undefined) return { view, id: decoded(id), query: params };
  return { view: view === "compare" ? "compare" : "runs", id: "", query: params };
}

/** An address that was written by hand may have a sign of percent that escapes nothing. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

export function hrefOf(
  view: "runs" | "compare" | { readonly run: string } | { readonly eval: string },
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const path =
    typeof view === "string"
      ? view === "runs"
        ? ""
        : view
      : "run" in view
        ? `run/${encoded(view.run)}`
        : `eval/${encoded(view.eval)}`;
  return `#/${pathOf(path, query)}`;
}

export function go(href: string, isReplacing = false): void {
  if (isReplacing) {
    history.replaceState(null, "", href);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = href;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const changed = (): void => {
      takeToken();
      setRoute(parseRoute(location.hash));
    };
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

/** Calls the function of a key that is pressed outside of inputs. */
export function useKeys(keys: Readonly<Record<string, (() => void) | undefined>>): void {
  // At once: the next key may be pressed before the next frame.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { target } = event;
      const isInput = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
      if (isInput && event.key === "Escape") return target.blur();
      if ((isInput && target.type !== "checkbox") || event.ctrlKey || event.metaKey || event.altKey) return;
      const isPressable = target instanceof HTMLButtonElement || target instanceof HTMLAnchorElement;
      if (isPressable && (event.key === "Enter" || event.key === " ")) return;
      const act = keys[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}
