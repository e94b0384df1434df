-- Totals of holds, by wallet, table of their cash and rule of their release: who has the cash follows without looking at rows.
select app.counted('held_cash', 'money.wallet_holds', '{account_id,reference_type,release}', 'amount');
