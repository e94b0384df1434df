-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

-- Fees that were said to be owed before this and not given back since are the office's to pay as well.
update money.payments p set refund_owed_at = e.said_at
from (
  select s.tenant_id, s.entity_id, max(s.created_at) as said_at from integration.system_events s
  where s.event_type in ('delivery.refund_due', 'waybill_return.refund_due', 'carrier_return.refund_due')
  group by s.tenant_id, s.entity_id) e
where p.tenant_id = e.tenant_id and p.delivery_id = e.entity_id and p.type in ('DELIVERY_FEE', 'DELIVERY_FEE_CHANGE') and p.status = 'SUCCESS'
  and not exists (select from money.payments r
    where r.tenant_id = p.tenant_id and r.delivery_id = p.delivery_id and r.type = 'REFUND' and r.status <> 'CANCELLED');
