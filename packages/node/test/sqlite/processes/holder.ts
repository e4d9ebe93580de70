/** Holds a database in the midst of a call, until it is killed: `holder.ts path raw|call`. */
import { sqliteResource } from "@proviso/node";
import { DatabaseSync } from "node:sqlite";
import { call } from "../support.ts";

const [path = "", how] = process.argv.slice(2);
const hold = async (): Promise<void> => {
  console.log("held");
  for (let second = 0; second < 300; second++) await new Promise((resolve) => setTimeout(resolve, 1_000));
};

if (how === "raw") {
  using database = new DatabaseSync(path);
  database.exec("BEGIN EXCLUSIVE; DELETE FROM notes");
  await hold();
}
const binding = sqliteResource(path);
await call([binding], (mine) => mine.run("INSERT INTO notes (text) VALUES ('committed')"));
await call([binding], async (mine) => {
  mine.exec("DELETE FROM notes; CREATE TABLE more (a); PRAGMA user_version = 9");
  // More than the cache holds, so that the file itself is changed before the commit.
  const statement = mine.prepare("INSERT INTO more VALUES (randomblob(4000))");
  for (let row = 0; row < 5_000; row++) statement.run();
  await hold();
});
