/** The locks that a migration takes before it does anything. */
import { type Action, nameOf, relationOf } from "./difference.ts";

/**
 * A transaction that has waited for a second looks for a circle, and is broken off where it stands in one: a call as often as
 * the migration. So a try takes its locks in less than that; while it waits for the first it holds nothing.
 */
const msOfFirst = 400;
const msOfOthers = 500;

/**
 * The locks of the statements below, taken together and before any work, in tries that are given up: a wait for a lock makes
 * all others wait behind it, so what a try held is free again soon. Calls take the same tables in another order. Views come
 * last, and each alone: LOCK TABLE would take the tables below it as well, which calls that come to the view often have already.
 */
export function lockFirst(
  actions: Action[],
  isThere: (relation: string | undefined) => boolean,
): string[] {
  const lockedBy = (lock: Action["lockClass"]) =>
    [
      ...new Set(
        actions.filter(({ lockClass }) => lockClass === lock)
          .flatMap((action) => [relationOf(action), referredTo(action)]).filter(isThere),
      ),
    ].sort() as string[];
  const views = new Set(
    actions.flatMap(({ consumes, destroys }) => [...consumes, ...destroys])
      .filter(({ kind }) => kind === "view").map(nameOf),
  );
  const fully = lockedBy("accessExclusive");
  const statements = [
    ...lockedBy("shareRowExclusive").filter((name) => !fully.includes(name))
      .map((name) => `lock table ${name} in share row exclusive mode;`),
    ...fully.filter((name) => !views.has(name))
      .map((name) => `lock table ${name} in access exclusive mode;`),
    // Changes nothing, and locks as what changes a view does.
    ...fully.filter((name) => views.has(name))
      .map((name) => `alter view ${name} reset (security_barrier);`),
  ];
  const [first, ...others] = statements;
  if (!first) return [];
  const msOfEach = Math.max(10, Math.floor(msOfOthers / others.length));
  const lines = [
    `set local lock_timeout = '${msOfFirst}ms';`,
    first,
    ...(others.length > 0 ? [`set local lock_timeout = '${msOfEach}ms';`, ...others] : []),
    "set local lock_timeout = '1s';",
  ];
  return [`do $$
begin
  for v_try in 1..30 loop
    begin
      ${lines.join("\n      ")}
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;`];
}

/** The table that a foreign key points to: it is locked as well. */
const referredTo = ({ sql }: Action) => / REFERENCES (\w+\.\w+)\(/.exec(sql)?.[1];
