-- The fees that a company earned with deliveries and its direct costs, read from the ledger.

-- The sums of a range of days by currency, and by the day, the month or the merchant when `group_by` says so. Only journals count, each with
-- its reversal on the day on which that was booked:
--   delivery_fees    charged to wallets (the company's wallet gets them), with their changes, and taken in cash: what was taken beside the COD
--   refunds          fees given back to wallets, or paid back at a desk
--   driver_pay       what drivers earned, paid out or not
--   carrier_charges  what carriers kept of what they took, for their work
--   write_offs       what carriers took and will not pay
--   shortages        cash that was short and that nobody answers for
-- The merchant is whose delivery it is; of a carrier's charges, a write-off and a shortage none. SECURITY DEFINER, for those who see the whole company:
-- under the policies each journal of a month would be looked up by itself.
-- {date_from?, date_to?, group_by?, currency?}: days in the company's time zone, from the first of this month until today unless said
-- -> {date_from, date_to, timezone, group_by, rows, totals}. Fails: forbidden.
create or replace function money.revenue(input jsonb) returns jsonb
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_zone text := app.timezone();
  v_to date := coalesce((input ->> 'date_to')::date, (now() at time zone v_zone)::date);
  v_from date := coalesce((input ->> 'date_from')::date, date_trunc('month', v_to)::date);
  v_by text := coalesce(input ->> 'group_by', 'none');
  v_rows jsonb;
  v_totals jsonb;
begin
  if not app.sees_tenant() then
    perform app.fail('forbidden');
  end if;
  with journal as (
    select t.id, t.reference_type, t.reference_id, t.created_at, k.word
    from money.ledger_transactions t
    join (values ('cash_collected', 'cash'), ('cash_collected_REVERSAL', 'cash'), ('cod_credit', 'cash'), ('cod_credit_REVERSAL', 'cash'),
      ('delivery_fee', 'charged'), ('delivery_fee_change', 'charged'), ('delivery_fee_refund', 'refund'), ('delivery_fee_refund_REVERSAL', 'refund'),
      ('cash_transfer', 'desk'), ('cash_transfer_REVERSAL', 'desk'), ('driver_pay', 'pay'), ('driver_pay_REVERSAL', 'pay'),
      ('carrier_charge', 'charge'), ('carrier_charge_REVERSAL', 'charge'),
      ('carrier_write_off', 'write_off'), ('carrier_write_off_REVERSAL', 'write_off'), ('cash_shortage', 'short'), ('cash_shortage_REVERSAL', 'short'),
      ('cod_settlement', 'short'), ('cod_settlement_REVERSAL', 'short')) k (kind, word) on k.kind = t.kind
    where t.tenant_id = v_tenant and t.created_at >= app.day_begins(v_from) and t.created_at < app.day_begins(v_to + 1)
  ), entry as (
    select j.*, e.currency, e.amount, case when a.kind = 'wallet' then a.owner_type = 'tenant' else a.kind in ('external', 'cod_clearing') end as counts,
      a.kind
    from journal j
    join money.ledger_entries e on e.tenant_id = v_tenant and e.transaction_id = j.id
    join money.accounts a on a.tenant_id = e.tenant_id and a.id = e.account_id
    where input ->> 'currency' is null or e.currency = input ->> 'currency'
  ), line as (
    select e.*, case e.word
      -- Outside gave all of it, and of that the COD was credited: the rest is the fee.
      when 'cash' then case e.kind when 'external' then -e.amount when 'cod_clearing' then e.amount end
      when 'charged' then case when e.counts then e.amount end
      when 'refund' then case when e.counts then -e.amount end
      when 'desk' then case when e.kind = 'external' and exists (select from money.cash_transfers c
        where c.tenant_id = v_tenant and c.id = e.reference_id and c.kind = 'refund') then e.amount end
      when 'pay' then case when e.kind = 'driver_cost' then -e.amount end
      when 'charge' then case when e.kind = 'external' then e.amount end
      when 'write_off' then case when e.kind = 'external' then e.amount end
      -- Where somebody answers for it the company's wallet has it; settled from a wallet, the fees and the COD.
      when 'short' then case when not e.counts then null when e.kind = 'external' then e.amount else -e.amount end end as sum
    from entry e
  ), about as (
    -- The deliveries that journals are about, where somebody asks.
    select x.reference_type, x.reference_id, coalesce(c.delivery_id, k.delivery_id, y.delivery_id, p.delivery_id) as delivery_id
    from (select distinct e.reference_type, e.reference_id from entry e where v_by = 'merchant') x
    left join money.cod_collections c on x.reference_type = 'cod_collection' and c.tenant_id = v_tenant and c.id = x.reference_id
    left join money.carrier_collections k on x.reference_type = 'carrier_collection' and k.tenant_id = v_tenant and k.id = x.reference_id
    left join money.driver_pay y on x.reference_type = 'driver_pay' and y.tenant_id = v_tenant and y.id = x.reference_id
    left join money.cash_transfers t on x.reference_type = 'cash_transfer' and t.tenant_id = v_tenant and t.id = x.reference_id
    left join money.payments p on p.tenant_id = v_tenant and p.id = case x.reference_type when 'payment' then x.reference_id else t.refund_id end
  ), owned as (
    select l.*, case v_by when 'day' then ((l.created_at at time zone v_zone)::date)::text
        when 'month' then to_char(l.created_at at time zone v_zone, 'YYYY-MM') end as period,
      case when d.order_id is null then coalesce(d.institution_user_id, d.customer_id) end as merchant
    from (
      select x.word, x.reference_type, x.reference_id, x.currency, min(x.created_at) as created_at, sum(x.sum) as sum
      from line x where x.sum is not null group by x.id, x.word, x.reference_type, x.reference_id, x.currency having sum(x.sum) <> 0) l
    left join about a on a.reference_type = l.reference_type and a.reference_id = l.reference_id
    left join delivery.deliveries b on b.tenant_id = v_tenant and b.id = a.delivery_id
    left join delivery.deliveries d on d.tenant_id = v_tenant and d.id = coalesce(b.parent_id, b.id)
  ), part as (
    select grouping(o.period) = 1 as whole, o.currency, o.period, o.merchant,
      coalesce(sum(o.sum) filter (where o.word in ('cash', 'charged')), 0) as delivery_fees,
      coalesce(sum(o.sum) filter (where o.word in ('refund', 'desk')), 0) as refunds,
      coalesce(sum(o.sum) filter (where o.word = 'pay'), 0) as driver_pay,
      coalesce(sum(o.sum) filter (where o.word = 'charge'), 0) as carrier_charges,
      coalesce(sum(o.sum) filter (where o.word = 'write_off'), 0) as write_offs,
      coalesce(sum(o.sum) filter (where o.word = 'short'), 0) as shortages
    from owned o group by grouping sets ((o.currency, o.period, o.merchant), (o.currency))
  )
  select coalesce(jsonb_agg(x.row || jsonb_build_object('period', x.period, 'merchant', money.person(x.merchant))
      order by x.period, x.merchant, x.currency) filter (where not x.whole), '[]'),
    coalesce(jsonb_agg(x.row order by x.currency) filter (where x.whole), '[]')
  into v_rows, v_totals
  from (
    select p.*, jsonb_build_object('currency', p.currency, 'delivery_fees', p.delivery_fees, 'refunds', p.refunds, 'driver_pay', p.driver_pay,
      'carrier_charges', p.carrier_charges, 'write_offs', p.write_offs, 'shortages', p.shortages,
      'net', p.delivery_fees - p.refunds - p.driver_pay - p.carrier_charges - p.write_offs - p.shortages) as row
    from part p) x;
  return jsonb_build_object('date_from', v_from, 'date_to', v_to, 'timezone', v_zone, 'rows', case when v_by = 'none' then '[]' else v_rows end,
    'totals', v_totals);
end $$;
grant execute on function money.revenue(jsonb) to barid_caller;
