/**
 * The people and places of the day: created for each run by a system administrator, so that every figure Barid gives for
 * them is of this run alone.
 */
import { done, type Person, type System } from "./barid.ts";
import type { DemoOptions } from "./options.ts";
import type { Plan } from "./plan.ts";
import { each, type Progress } from "./progress.ts";

export interface Warehouse {
  id: string;
  shelf: string;
}

export interface People {
  tenant: string;
  admin: Person;
  dispatcher: Person;
  manager: Person;
  merchant: Person;
  institution: Person;
  drivers: Person[];
}

export interface World extends People {
  system: System;
  /** Short name of the run, in what has to be unique. */
  run: string;
  branch: { id: string; code: string };
  service: string;
  /** Addresses that parcels go to, by the number of the plan. */
  places: string[];
  /** The same in the merchant's address book. */
  merchantPlaces: string[];
  main: Warehouse;
  second: Warehouse;
  /** Inventory items, by the number of the plan. */
  goods: string[];
}

const names = [
  "علي حسن",
  "کاروان ئەحمەد",
  "Omar Salim",
  "حسين كاظم",
  "ڕێبین عوسمان",
  "Yousif Adnan",
];
const points = [
  { title: { en: "Karrada", ar: "الكرادة", ku: "کەڕادە" }, latitude: 33.299, longitude: 44.427 },
  { title: { en: "Mansour", ar: "المنصور", ku: "مەنسوور" }, latitude: 33.315, longitude: 44.343 },
  {
    title: { en: "Adhamiyah", ar: "الأعظمية", ku: "ئەعزەمییە" },
    latitude: 33.369,
    longitude: 44.364,
  },
  { title: { en: "Kadhimiya", ar: "الكاظمية", ku: "کازمییە" }, latitude: 33.379, longitude: 44.29 },
  { title: { en: "Doura", ar: "الدورة", ku: "دۆرە" }, latitude: 33.243, longitude: 44.393 },
];

export const peopleOf = (plan: Pick<Plan, "drivers">): number => plan.drivers + 4;

/** Hires everybody, and gives merchant, institution and drivers what they need in their wallets. */
export async function hire(
  system: System,
  options: DemoOptions,
  plan: Pick<Plan, "drivers">,
  progress: Progress,
): Promise<People> {
  const { run } = system;
  const { email, systemEmail, password } = options;
  const admin = await system.signIn("administrator", email, password);
  const operator = await system.signIn("system administrator", systemEmail, password);
  const home = await done(admin.barid.GET("/tenants/me"));
  const tenant = home.memberships[0].tenant_id;
  type Role = "driver" | "institution" | "customer" | "dispatcher" | "warehouse_manager";

  async function hired(role: Role, key: string, full_name: string): Promise<Person> {
    const staff = role === "dispatcher" || role === "warehouse_manager";
    const address = `${key}.${run}@demo.test`;
    await done(operator.barid.POST("/tenants/{tenantId}/members", {
      params: { path: { tenantId: tenant } },
      body: {
        email: address,
        password,
        full_name,
        tenant_user_type: staff ? "staff" : role,
        roles: [role],
      },
    }));
    const person = await system.signIn(full_name, address, password);
    progress.step();
    return person;
  }

  const [dispatcher, manager, merchant, institution] = await Promise.all([
    hired("dispatcher", "dispatcher", "زينب كاظم"),
    hired("warehouse_manager", "warehouse", "هێمن سەعید"),
    hired("customer", "merchant", "متجر بغداد"),
    hired("institution", "institution", "صيدلية دجلة"),
  ]);
  const drivers = await each(Array.from({ length: plan.drivers }), async (_, n) => {
    const driver = await hired("driver", `driver-${n + 1}`, `${names[n % names.length]} ${n + 1}`);
    const { data: vehicle } = await done(admin.barid.POST("/delivery/vehicles", {
      body: { name: `Lorry ${n + 1} ${run}`, unit_capacity: 100_000 },
    }));
    await done(admin.barid.POST("/delivery/drivers", {
      body: { user_id: driver.id, vehicle_id: vehicle.id, all_zones: true },
    }));
    return driver;
  });
  return { tenant, admin, dispatcher, manager, merchant, institution, drivers };
}

/** The points of the day in somebody's address book; an address serves who wrote it down, and the office. */
async function written({ barid }: Person): Promise<string[]> {
  return await each(points, async ({ title, ...point }, n) => {
    const { data } = await done(barid.POST("/delivery/addresses", {
      body: {
        title,
        ...point,
        full_address: `${title.ar}، شارع ${n + 10}`,
        city: "Baghdad",
        country: "IQ",
      },
    }));
    return data.id;
  });
}

/** The institution's branch, the addresses, two warehouses with a shelf and a dock each, and the goods. */
export async function settle(
  system: System,
  people: People,
  plan: Pick<Plan, "goods">,
): Promise<World> {
  const { admin: { barid }, institution, manager } = people;
  const { run } = system;
  const [places, merchantPlaces] = await Promise.all([people.admin, people.merchant].map(written));
  const { data: point } = await done(barid.POST("/delivery/transfer-processing-points", {
    body: { name: `Hub ${run}`, code: `PP-${run}`, address_id: places[0] },
  }));
  const { data: branch } = await done(
    barid.POST("/delivery/institutions/{institution_user_id}/branches", {
      params: { path: { institution_user_id: institution.id } },
      body: {
        name: "الفرع الرئيسي",
        code: `BR-${run}`,
        address_id: places[1],
        default_processing_point_id: point.id,
      },
    }),
  );
  const { deliveryServices } = await done(
    barid.GET("/delivery/services", { params: { query: { limit: 100 } } }),
  );
  const service = deliveryServices.find(({ code }) => code === "STD") ?? deliveryServices[0];

  async function build(code: string, name: string, address_id: string): Promise<Warehouse> {
    const { warehouse: { id } } = await done(barid.POST("/warehousing/warehouses", {
      body: { name, code: `${code}-${run}`, address_id },
    }));
    const at = { params: { path: { warehouse_id: id } } };
    const [{ bin: shelf }] = await Promise.all([
      done(barid.POST("/warehousing/warehouses/{warehouse_id}/bins", {
        ...at,
        body: { code: "A-01", name: "Shelf" },
      })),
      done(barid.POST("/warehousing/warehouses/{warehouse_id}/bins", {
        ...at,
        body: {
          code: "R-01",
          name: "Dock",
          location_type: "RECEIVING",
          is_default_receiving: true,
        },
      })),
      done(barid.POST("/warehousing/warehouses/{warehouse_id}/staff", {
        ...at,
        body: { user_id: manager.id, role: "manager" },
      })),
    ]);
    return { id, shelf: shelf.id };
  }
  const [main, second] = await Promise.all([
    build("MAIN", "مخزن اليوم", places[4]),
    build("SECOND", "کۆگای دووەم", places[3]),
  ]);
  const goods = await each(plan.goods, async (_, n) => {
    const { inventory_item } = await done(barid.POST("/warehousing/inventory-items", {
      body: { name: `Goods ${n + 1}`, sku: `G${n + 1}-${run}` },
    }));
    return inventory_item.id;
  });
  return {
    ...people,
    system,
    run,
    branch,
    service: service.id,
    places,
    merchantPlaces,
    main,
    second,
    goods,
  };
}

/** Puts money from outside into somebody's wallet. */
export async function fund(world: World, person: Person, amount: number): Promise<void> {
  const { wallet } = await done(person.barid.GET("/delivery/wallets/me"));
  if (!wallet) throw new Error(`${person.name} has no wallet`);
  await done(world.admin.barid.POST("/delivery/wallets/{id}/adjust", {
    params: {
      path: { id: wallet.id },
      header: { "Idempotency-Key": world.system.nextKey() },
    },
    body: { amount, direction: "credit", reason: "Paid in at the office" },
  }));
}

export async function balanceOf(person: Person): Promise<number> {
  const { wallet } = await done(person.barid.GET("/delivery/wallets/me"));
  return wallet?.balance ?? 0;
}
