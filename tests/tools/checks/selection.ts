/** Which tests belong to a feature, and which a change touches, by the names that folders share. */
import { slugs } from "../../../supabase/local/paths.ts";
import { filesIn } from "./files.ts";
import { onlyInFull } from "./suites.ts";

/** Whatever a request or a core is changed in, these read all of them. */
const ofEveryCall = [
  "tests/contract/access.test.ts",
  "tests/contract/messages.test.ts",
  "tests/contract/openapi.test.ts",
  "tests/sql/",
];

/** Read by no test of `npm test`, or made from what else has changed. */
const untested = /^(docs|\.github|\.ci|LICENSES|shared\/client|supabase\/migrations)\/|^[^/]+\.md$/;

const allTests = () =>
  filesIn("tests").filter((file) =>
    file.endsWith(".test.ts") && !Object.keys(onlyInFull).some((path) => file.startsWith(path))
  );

/** The tests of what `name` names: `delivery/cod`, `delivery`, a folder of `tests`, or one file. Empty when there is none. */
export function testsNamed(name: string): string[] {
  const path = name.replace(/^(tests|functions|sql)\//, "").replace(/\/+$/, "");
  return filesIn("tests").filter((file) =>
    file.endsWith(".test.ts") && (file === `tests/${path}` || file.startsWith(`tests/${path}/`))
  );
}

/**
 * The tests that changed files touch: their own, those of the features they belong to, and `related`, which import them.
 * Undefined when a change may touch every test.
 */
export function testsTouched(changed: string[], related: string[]): string[] | undefined {
  const all = allTests();
  const chosen = new Set(related.filter((file) => all.includes(file)));
  for (const file of changed.filter((path) => !untested.test(path))) {
    if (file.startsWith("tests/")) {
      // `related` has the tests that import it; a text that a test reads is in the test's folder.
      const folder = file.slice(0, file.lastIndexOf("/") + 1);
      const texts = /\.(txt|json)$/.test(file) && all.filter((one) => one.startsWith(folder));
      for (const one of texts || all.filter((one) => one === file)) chosen.add(one);
      continue;
    }
    const touched = ofSource(file, all);
    if (!touched?.length) return undefined;
    for (const one of touched) chosen.add(one);
    for (const path of ofEveryCall) {
      all.filter((one) => one.startsWith(path)).forEach((one) => chosen.add(one));
    }
  }
  return [...chosen].sort();
}

function ofSource(file: string, all: string[]): string[] | undefined {
  const [room, area, feature, ...rest] = file.split("/");
  const slug = /^(\w+)\./.exec(area ?? "")?.[1];
  const within = (folder: string) => all.filter((one) => one.startsWith(`tests/${folder}/`));
  if (room === "functions") return rest.length ? testsNamed(`${area}/${feature}`) : within(area!);
  // shared/errors/delivery.ts, shared/i18n/delivery.ku.json
  const named = /^(\w+)\./.exec(feature ?? "")?.[1] ?? slug;
  if (room === "shared" && /^(errors|i18n)$/.test(area!) && isSlug(named ?? "")) {
    return within(named!);
  }
  // An area of sql/ has tests wherever a function has a feature of that name.
  if (room === "sql" && rest.length) {
    return all.filter((one) => isSlug(one.split("/")[1]!) && one.split("/")[2] === feature);
  }
  return undefined;
}

function isSlug(name: string): boolean {
  return (slugs as readonly string[]).includes(name);
}
