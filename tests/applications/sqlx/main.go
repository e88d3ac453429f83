// A working day of a Go program over sqlx on github.com/nakagami/firebirdsql: structures, named queries, transactions.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	_ "github.com/nakagami/firebirdsql"
)

func address() string {
	return fmt.Sprintf("%s:%s@%s:%s/%s", os.Getenv("FIREBIRD_USER"), os.Getenv("FIREBIRD_PASSWORD"), os.Getenv("FIREBIRD_HOST"),
		os.Getenv("FIREBIRD_PORT"), os.Getenv("FIREBIRD_DATABASE"))
}

// check runs one check and reports it; a panic is a failure like any other.
func check(name string, work func() error) {
	err := func() (err error) {
		defer func() {
			if caught := recover(); caught != nil {
				err = fmt.Errorf("panic: %v", caught)
			}
		}()
		return work()
	}()
	if err != nil {
		fmt.Printf("FAIL %s: %s\n", name, strings.Join(strings.Fields(err.Error()), " "))
		return
	}
	fmt.Printf("ok %s\n", name)
}

func same(given, wanted any) error {
	if !reflect.DeepEqual(given, wanted) {
		return fmt.Errorf("%v instead of %v", given, wanted)
	}
	return nil
}

// fails is nil if the error has the part in its text.
func fails(part string, err error) error {
	if err == nil {
		return fmt.Errorf("no error instead of one with %s", part)
	}
	if !strings.Contains(err.Error(), part) {
		return err
	}
	return nil
}

type person struct {
	ID      int32          `db:"id"`
	Name    string         `db:"name"`
	City    sql.NullString `db:"city"`
	Credit  float64        `db:"credit"`
	Born    *time.Time     `db:"born"`
	Active  bool           `db:"active"`
	Picture []byte         `db:"picture"`
}

const personTable = `create table person (id integer not null primary key, name varchar(60) not null, city varchar(30),
	credit double precision default 0, born date, active boolean default true, picture blob)`

func overSqlx() {
	database, err := sqlx.Connect("firebirdsql", address()+"?column_name_to_lower=true")
	check("sqlx connect", func() error { return err })
	if err != nil {
		return
	}
	defer database.Close()
	check("sqlx DDL", func() error {
		_, err := database.Exec(personTable)
		return err
	})
	check("sqlx NamedExec", func() error {
		born := time.Date(1815, 12, 10, 0, 0, 0, 0, time.UTC)
		for _, one := range []person{
			{ID: 1, Name: "Ada", City: sql.NullString{String: "London", Valid: true}, Credit: 100.5, Born: &born, Active: true, Picture: []byte{0, 1, 255}},
			{ID: 2, Name: "Grace", City: sql.NullString{String: "New York", Valid: true}, Credit: 20.25},
			{ID: 3, Name: "Ædith", Credit: 0, Active: true},
		} {
			if _, err := database.NamedExec(`insert into person (id, name, city, credit, born, active, picture)
				values (:id, :name, :city, :credit, :born, :active, :picture)`, one); err != nil {
				return err
			}
		}
		return nil
	})
	check("sqlx Get", func() error {
		var ada person
		if err := database.Get(&ada, "select * from person where id = ?", 1); err != nil {
			return err
		}
		return same(fmt.Sprint(ada.Name, ada.City.String, ada.Credit, ada.Born.Format("2006-01-02"), ada.Active, ada.Picture), "AdaLondon100.51815-12-10true [0 1 255]")
	})
	check("sqlx Select", func() error {
		var people []person
		if err := database.Select(&people, "select * from person order by id"); err != nil {
			return err
		}
		return same(fmt.Sprint(len(people), people[1].Name, people[2].City.Valid), "3Gracefalse")
	})
	check("sqlx nothing found", func() error {
		var nobody person
		if err := database.Get(&nobody, "select * from person where id = 77"); !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%v instead of no rows", err)
		}
		return nil
	})
	check("sqlx In", func() error {
		query, arguments, err := sqlx.In("select name from person where id in (?) order by id", []int{1, 3})
		if err != nil {
			return err
		}
		var names []string
		if err := database.Select(&names, database.Rebind(query), arguments...); err != nil {
			return err
		}
		return same(names, []string{"Ada", "Ædith"})
	})
	check("sqlx NamedQuery", func() error {
		rows, err := database.NamedQuery("select name from person where credit > :least order by id", map[string]any{"least": 10})
		if err != nil {
			return err
		}
		defer rows.Close()
		var names []string
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			names = append(names, name)
		}
		return same(names, []string{"Ada", "Grace"})
	})
	check("sqlx maps and slices", func() error {
		row := map[string]any{}
		if err := database.QueryRowx("select id, name from person where id = 1").MapScan(row); err != nil {
			return err
		}
		slice, err := database.QueryRowx("select id, city from person where id = 3").SliceScan()
		if err != nil {
			return err
		}
		return same(fmt.Sprint(row["id"], row["name"], slice), "1Ada[3 <nil>]")
	})
	check("sqlx prepared statements", func() error {
		statement, err := database.Preparex("select name from person where id = ?")
		if err != nil {
			return err
		}
		defer statement.Close()
		for id, wanted := range map[int]string{1: "Ada", 2: "Grace"} {
			var name string
			if err := statement.Get(&name, id); err != nil {
				return err
			}
			if err := same(name, wanted); err != nil {
				return err
			}
		}
		return nil
	})
	check("sqlx a transaction and its rollback", func() error {
		transaction, err := database.Beginx()
		if err != nil {
			return err
		}
		transaction.MustExec("update person set city = 'Paris' where id = ?", 1)
		if err := transaction.Rollback(); err != nil {
			return err
		}
		var city string
		if err := database.Get(&city, "select city from person where id = 1"); err != nil {
			return err
		}
		return same(city, "London")
	})
	check("sqlx levels of isolation", func() error {
		for _, level := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
			transaction, err := database.BeginTxx(context.Background(), &sql.TxOptions{Isolation: level})
			if err != nil {
				return err
			}
			var many int
			if err := transaction.Get(&many, "select count(*) from person"); err != nil {
				return err
			}
			if err := transaction.Commit(); err != nil {
				return err
			}
		}
		return nil
	})
	check("sqlx RETURNING", func() error {
		var id int
		if err := database.QueryRow("insert into person (id, name) values (9, 'Nine') returning id").Scan(&id); err != nil {
			return err
		}
		return same(id, 9)
	})
	check("sqlx affected rows", func() error {
		result, err := database.Exec("delete from person where id = 9")
		if err != nil {
			return err
		}
		many, err := result.RowsAffected()
		if err != nil {
			return err
		}
		return same(many, int64(1))
	})
	check("sqlx column types", func() error {
		rows, err := database.Queryx("select id, name, credit, born, active from person")
		if err != nil {
			return err
		}
		defer rows.Close()
		types, err := rows.ColumnTypes()
		if err != nil {
			return err
		}
		var told []string
		for _, one := range types {
			told = append(told, one.DatabaseTypeName())
		}
		return same(strings.Join(told, " "), "LONG VARYING DOUBLE DATE BOOLEAN")
	})
	check("sqlx errors have their text", func() error {
		_, err := database.Exec("insert into person (id, name) values (1, 'twice')")
		return fails("violation of PRIMARY or UNIQUE KEY", err)
	})
}

func main() {
	overSqlx()
}
