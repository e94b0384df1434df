/** The person that an erasure or a disclosure is about, as one company knows them: their rows, and what they are called there. */
import type postgres from "postgres";
import { Failure } from "../local/failure.ts";
import { anyOf, emailPattern, phonePattern, wordsPattern } from "./contacts.ts";
import { referencesToPeople } from "./people.ts";
import { namesOf, namesOfPlaces, setsOf } from "./subject-rows.ts";
import { quoted } from "./tables.ts";

/** The person as the command line names them: an account by its id or e-mail, or somebody without one. */
export interface Asked {
  person?: string;
  phone?: string;
  email?: string;
}

export interface Subject {
  asked: Asked;
  tenant: string;
  /** The account, if there is one. */
  person?: string;
  /** Ids of rows that are the person's, by what they are. `account` is empty where the account stays. */
  sets: Record<string, string[]>;
  /** Regular expressions: telephone and e-mail; and those with names and streets. */
  contact: string;
  texts: string;
  /** The text in place of a name. */
  word: string;
  /** Names of the company's places whose contact the person is: they stand beside it as if they were the person's, and stay. */
  kept?: string[];
  /** Files in Storage (<bucket>/<path>) that an erasure which was begun found: their rows may have lost the path before they went. */
  files?: string[];
}

/** One word in the language of the company, since a name has one language too. */
const words: Record<string, string> = { en: "Erased", ar: "محذوف", ku: "سڕاوەتەوە" };

type Tx = postgres.TransactionSql;

export async function tenantOf(tx: Tx, slug: string): Promise<string> {
  const [tenant] = await tx`select t.id from tenancy.tenants t where t.slug = ${slug}`;
  if (!tenant) throw new Failure(`This project has no company "${slug}".`);
  return tenant.id;
}

/**
 * Finds the person in the company. Fails when they are no member, or when a member has the contact. `before`: as an erasure that was
 * begun found them; what has come since is added, and nothing goes, for the rows say less by now.
 */
export async function subjectOf(
  tx: Tx,
  tenant: string,
  asked: Asked,
  before?: Subject,
): Promise<Subject> {
  const profile = await profileOf(tx, tenant, before?.person ? { person: before.person } : asked);
  const phones = [asked.phone, profile?.phone].filter((one) => one);
  const emails = [asked.email, profile?.email].filter((one) => one);
  const patterns = [
    ...phones.map((one) => phonePattern(one) ?? (one === asked.phone ? tooShort(one) : undefined)),
    ...emails.map(emailPattern),
  ].filter((one) => one !== undefined);
  const contact = withPatterns(before?.contact, patterns);
  if (!profile) await refuseMembers(tx, tenant, contact);
  const me = profile?.id ?? null;
  const sets = await setsOf(tx, tenant, me, contact, before?.sets);
  sets.person = me ? [me] : [];
  sets.account = before?.sets.account ?? (me && !await isOfOthers(tx, tenant, me) ? [me] : []);
  if (before?.sets.receipts) sets.receipts = before.sets.receipts;
  const names = [profile?.full_name, ...await namesOf(tx, tenant, sets, contact)]
    .filter((one) => one && one.length > 2 && !Object.values(words).includes(one));
  const [language] = await tx`select s.settings ->> 'default' as code from tenancy.tenant_settings s
    where s.tenant_id = ${tenant} and s.module = 'general' and s.group_key = 'language'`;
  const texts = withPatterns(before?.texts, [...patterns, ...names.map(wordsPattern)]);
  const kept = await namesOfPlaces(tx, sets, contact, texts);
  return {
    ...{ asked, tenant, sets, contact, texts },
    kept: [...new Set([...before?.kept ?? [], ...kept])],
    ...(me && { person: me }),
    ...(before?.files && { files: before.files }),
    word: before?.word ?? words[language?.code ?? "en"] ?? words.en!,
  };
}

/** The pattern `before`, with those of the others that it does not have. */
function withPatterns(before: string | undefined, patterns: string[]): string {
  if (!before) return anyOf(patterns);
  const more = patterns.filter((one) => !before.includes(one));
  return more.length > 0 ? anyOf([before, ...more]) : before;
}

const tooShort = (number: string) => {
  throw new Failure(`"${number}" has too few digits to be the number of one person.`);
};

async function profileOf(tx: Tx, tenant: string, { person }: Asked) {
  if (!person) return undefined;
  const [profile] = await tx`select p.id, p.full_name, p.phone, p.email,
      exists (select from tenancy.system_users s where s.user_id = p.id) as manages
    from tenancy.profiles p
    join tenancy.tenant_users u on u.user_id = p.id and u.tenant_id = ${tenant}
    where p.id::text = ${person.toLowerCase()} or lower(p.email) = ${person.toLowerCase()}`;
  if (!profile) throw new Failure(`The company has no member "${person}".`);
  if (profile.manages) {
    throw new Failure("They manage the system: take that from them first (tenancy.system_users).");
  }
  return profile;
}

async function refuseMembers(tx: Tx, tenant: string, contact: string): Promise<void> {
  const members = await tx`select p.id from tenancy.profiles p
    join tenancy.tenant_users u on u.user_id = p.id and u.tenant_id = ${tenant}
    where concat_ws(' ', p.phone, p.email) ~* ${contact}`;
  if (members.length > 0) {
    const ids = members.map(({ id }) => id).join(", ");
    throw new Failure(`Members of the company have this contact: --person <id> for ${ids}.`);
  }
}

/** True when a row of another company names the account: it stays, with its profile. */
async function isOfOthers(tx: Tx, tenant: string, me: string): Promise<boolean> {
  for (const { table, column, is_tenants } of await referencesToPeople(tx)) {
    const owner = table === "tenancy.tenants" ? "id" : is_tenants ? "tenant_id" : undefined;
    // Which company somebody's next token names is not whose they are.
    if (!owner || table === "tenancy.active_tenants") continue;
    const [found] = await tx.unsafe(
      `select exists (select from ${quoted(table)} t where t.${
        quoted(column)
      } = $1 and t.${owner} <> $2) as here`,
      [me, tenant],
    );
    if (found!.here) return true;
  }
  return false;
}
