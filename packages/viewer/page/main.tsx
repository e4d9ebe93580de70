import { render } from "preact";
import { useState } from "preact/hooks";
import { takeToken } from "./api.ts";
import { Compare } from "./compare.tsx";
import { Matrix } from "./matrix.tsx";
import { go, hrefOf, useKeys, useRoute } from "./route.ts";
import { Run } from "./run.tsx";
import { Runs } from "./runs.tsx";

const themeKey = "proviso.viewer.theme";

function nextTheme(): void {
  const now = document.documentElement.dataset["theme"];
  const isDark = now === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : now === "dark";
  document.documentElement.dataset["theme"] = isDark ? "light" : "dark";
  localStorage.setItem(themeKey, isDark ? "light" : "dark");
}

function App() {
  const route = useRoute();
  const [isHelp, setHelp] = useState(false);
  useKeys({
    t: nextTheme,
    "?": () => setHelp(!isHelp),
    "/": () => document.querySelector<HTMLInputElement>("input[type=search]")?.focus(),
    Escape: isHelp ? () => setHelp(false) : route.view === "runs" ? undefined : () => go(hrefOf("runs")),
  });
  return (
    <>
      {route.view === "run" ? (
        <Run key={route.id} id={route.id} query={route.query} />
      ) : route.view === "eval" ? (
        <Matrix key={route.id} id={route.id} query={route.query} />
      ) : route.view === "compare" ? (
        <Compare key={route.query.toString()} query={route.query} />
      ) : (
        <Runs query={route.query} />
      )}
      {isHelp && <Help close={() => setHelp(false)} />}
    </>
  );
}

const keys = [
  ["j  k", "next and previous row"],
  ["Enter", "open the run"],
  ["u", "next undone call"],
  ["e", "next failure"],
  ["g", "the end"],
  ["/", "search"],
  ["c", "mark a run to compare; with two marked, compare"],
  ["t", "light or dark"],
  ["Esc", "back"],
  ["?", "these keys"],
] as const;

function Help({ close }: { readonly close: () => void }) {
  return (
    <div class="help" role="dialog" aria-label="Keys" onClick={close}>
      <table>
        <tbody>
          {keys.map(([key, what]) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const theme = localStorage.getItem(themeKey);
if (theme === "light" || theme === "dark") document.documentElement.dataset["theme"] = theme;
takeToken();
render(<App />, document.querySelector("#app") as HTMLElement);
