// A working day of a Node program over Knex with its dialect for Firebird, and over Objection's models on top of that.

'use strict';

const { Model } = require('objection');
const knexLibrary = require('knex');
const dialect = require('knex-firebird-dialect').default;
const { where, same, fails, check, run } = require('../node/checks');

async function builder(knex) {
  await check('knex tables are made', async () => {
    await knex.schema.createTable('customer', (table) => {
      table.increments('id').primary();
      table.string('name', 60).notNullable();
      table.string('city', 30);
      table.decimal('credit', 15, 2);
      table.timestamp('created');
      table.specificType('note', 'blob sub_type text');
    });
    await knex.schema.createTable('invoice', (table) => {
      table.integer('id').primary();
      table.integer('customer_id').notNullable().references('customer.id');
      table.decimal('total', 15, 2);
      table.date('issued');
    });
  });
  await check('knex what there is', async () => {
    same(await knex.schema.hasTable('customer'), true);
    same(await knex.schema.hasTable('nobody'), false);
    same(await knex.schema.hasColumn('customer', 'city'), true);
    same(await knex.schema.hasColumn('customer', 'street'), false);
  });
  await check('knex columns are added, renamed and dropped', async () => {
    await knex.schema.alterTable('customer', (table) => table.string('phone', 20));
    await knex.schema.alterTable('customer', (table) => table.renameColumn('phone', 'telephone'));
    same(await knex.schema.hasColumn('customer', 'telephone'), true);
    await knex.schema.alterTable('customer', (table) => table.dropColumn('telephone'));
    same(await knex.schema.hasColumn('customer', 'telephone'), false);
  });
  await check('knex an index', () => knex.schema.alterTable('customer', (table) => table.index(['name'], 'ix_customer_name')));
  await check('knex rows are written', async () => {
    await knex('customer').insert({ id: 1, name: 'Ada', city: 'London', credit: 100.5, created: new Date(2026, 0, 31, 13, 14, 15) });
    await knex('customer').insert({ id: 2, name: 'Grace', city: 'New York', credit: 20.25 });
    await knex('customer').insert({ id: 3, name: 'Ædith 😎', city: 'Köln', credit: 0 });
    await knex('customer').insert({ id: 4, name: 'Bob', city: null, credit: 70 });
    for (let at = 0; at < 40; at++) await knex('invoice').insert({ id: at, customer_id: 1 + (at % 3), total: at / 4, issued: new Date(2026, 0, 1 + (at % 28)) });
  });
  await check('knex INSERT returns', async () => {
    const rows = await knex('customer').insert({ id: 5, name: 'Eve' }).returning('id');
    same(JSON.stringify(rows).includes('5'), true);
  });
  await check('knex where', async () => {
    same(await knex('customer').where('credit', '>', 50).orderBy('id').pluck('id'), [1, 4]);
    same(await knex('customer').where({ name: 'Ædith 😎' }).pluck('city'), ['Köln']);
    same(await knex('customer').whereNull('city').orderBy('id').pluck('name'), ['Bob', 'Eve']);
    same(await knex('customer').whereIn('id', [1, 3, 9]).orderBy('id').pluck('id'), [1, 3]);
    same(await knex('customer').whereBetween('credit', [20, 80]).orderBy('id').pluck('id'), [2, 4]);
    same(await knex('customer').where('name', 'like', '%a%').orWhere((both) => both.where('id', 3).whereNotNull('city')).orderBy('id').pluck('id'), [1, 2, 3]);
    same(await knex('customer').whereExists(knex('invoice').select(knex.raw('1')).whereRaw('invoice.customer_id = customer.id')).orderBy('id').pluck('id'), [1, 2, 3]);
    same(await knex('customer').whereRaw('upper(city) = ?', ['LONDON']).pluck('id'), [1]);
  });
  await check('knex joins', async () => {
    same(await knex('customer').join('invoice', 'customer.id', 'invoice.customer_id').where('invoice.id', 7).select('customer.name as who', 'invoice.total as total'),
      [{ who: 'Grace', total: 1.75 }]);
    same((await knex('customer').leftJoin('invoice', 'customer.id', 'invoice.customer_id').whereNull('invoice.id').orderBy('customer.id').pluck('customer.id')), [4, 5]);
  });
  await check('knex groups', async () => {
    const rows = await knex('invoice').select('customer_id').count('* as many').sum('total as total').groupBy('customer_id').having('customer_id', '<', 3).orderBy('customer_id');
    same(rows.map((row) => [row.customer_id, Number(row.many), Number(row.total)]), [[1, 14, 68.25], [2, 13, 61.75]]);
  });
  await check('knex count, min, max, avg, sum', async () => {
    const row = await knex('invoice').first().count('* as many').min('id as least').max('id as most').sum('id as total');
    same([row.many, row.least, row.most, row.total].map(Number), [40, 0, 39, 780]);
  });
  await check('knex limit and offset', async () => same(await knex('invoice').select('id').orderBy('id').limit(3).offset(5), [{ id: 5 }, { id: 6 }, { id: 7 }]));
  await check('knex first', async () => same((await knex('customer').orderBy('id', 'desc').first('name')).name, 'Eve'));
  await check('knex distinct', async () => same((await knex('invoice').distinct('customer_id').orderBy('customer_id')).map((row) => row.customer_id), [1, 2, 3]));
  await check('knex union', async () => same((await knex('customer').select('id').where('id', 1).union(knex('customer').select('id').where('id', 2))).map((row) => row.id).sort(), [1, 2]));
  await check('knex with', async () => same((await knex.with('rich', knex('customer').select('id').where('credit', '>', 50)).select('id').from('rich').orderBy('id')).map((row) => row.id), [1, 4]));
  await check('knex update and delete', async () => {
    await knex('customer').where('id', 2).update({ city: 'Boston', note: 'grüße '.repeat(3000) });
    same(await knex('customer').where('id', 2).pluck('city'), ['Boston']);
    await knex('customer').where('id', 2).increment('credit', 5);
    same(Number((await knex('customer').where('id', 2).first('credit')).credit), 25.25);
    await knex('customer').where('id', 5).del();
    same(Number((await knex('customer').count('* as many').first()).many), 4);
  });
  await check('knex a BLOB of text', async () => {
    const { note } = await knex('customer').where('id', 2).first('note');
    same(Buffer.isBuffer(note) ? note.toString() : note, 'grüße '.repeat(3000));
  });
  await check('knex a date and a moment', async () => {
    const { created } = await knex('customer').where('id', 1).first('created');
    same(created.getTime(), new Date(2026, 0, 31, 13, 14, 15).getTime());
    const { issued } = await knex('invoice').where('id', 2).first('issued');
    same([issued.getFullYear(), issued.getMonth(), issued.getDate()], [2026, 0, 3]);
  });
  await check('knex raw statements', async () => same((await knex.raw('select name from customer where id = ?', [1]))[0].name.trim(), 'Ada'));
  await check('knex a violated constraint is told', () => fails('iolation of PRIMARY', () => knex('invoice').insert({ id: 1, customer_id: 1 })));
  await check('knex a missing table is told', () => fails('Table unknown', () => knex('nobody').select('*')));
}

async function models(knex) {
  class Invoice extends Model {
    static tableName = 'invoice';
  }
  class Customer extends Model {
    static tableName = 'customer';
    static relationMappings = {
      invoices: { relation: Model.HasManyRelation, modelClass: Invoice, join: { from: 'customer.id', to: 'invoice.customer_id' } },
    };
  }
  Customer.knex(knex);
  Invoice.knex(knex);
  await check('objection find', async () => same((await Customer.query().findById(1)).name, 'Ada'));
  await check('objection where and order', async () => same((await Customer.query().where('credit', '>', 20).orderBy('id')).map((found) => found.id), [1, 2, 4]));
  await check('objection relations', async () => {
    const customers = await Customer.query().whereIn('id', [1, 4]).orderBy('id').withGraphFetched('invoices');
    same(customers.map((found) => found.invoices.length), [14, 0]);
  });
  await check('objection patch and delete', async () => {
    await Customer.query().findById(4).patch({ city: 'Bonn' });
    same((await Customer.query().findById(4)).city, 'Bonn');
    await Customer.query().deleteById(4);
    same(await Customer.query().findById(4), undefined);
  });
  await check('objection a page', async () => same((await Invoice.query().orderBy('id').offset(10).limit(10)).map((found) => found.id), [10, 11, 12, 13, 14, 15, 16, 17, 18, 19]));
}

async function day() {
  const knex = knexLibrary({ client: dialect, connection: { ...where, lowercase_keys: true }, pool: { min: 1, max: 1 } });
  await builder(knex);
  await models(knex);
  await check('knex tables are dropped', async () => {
    await knex.schema.dropTable('invoice');
    await knex.schema.dropTable('customer');
    same(await knex.schema.hasTable('customer'), false);
  });
  await knex.destroy();
}

run(day);
