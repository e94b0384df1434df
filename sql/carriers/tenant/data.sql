-- The carriers there are. One that is not the tenant's own fleet needs an adapter of its code in
-- functions/carriers/adapters. The simulated one carries nothing: it is offered only where the demo data turns it on.
insert into integration.carriers (code, name, logo_url, is_internal, supports_webhook, is_active, position) values
  ('internal', 'Own fleet', null, true, false, true, 1),
  ('easypost', 'EasyPost', null, false, true, true, 2),
  ('simulated', 'Simulated carrier', null, false, true, false, 3)
on conflict (code) do update set name = excluded.name, logo_url = excluded.logo_url, is_internal = excluded.is_internal,
  supports_webhook = excluded.supports_webhook, position = excluded.position;
