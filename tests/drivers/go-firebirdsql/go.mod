module farbird/tests/drivers/go-firebirdsql

go 1.22

require github.com/nakagami/firebirdsql v0.9.23
