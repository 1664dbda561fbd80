/* Checks what MPI does over the device: messages of many lengths, many at once, collectives and
 * one-sided operations, each with its data. Prints GOOD, or what was wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, wrong;

static void check(int ok, const char *what, long n)
{
	if (!ok) {
		wrong++;
		fprintf(stderr, "rank %d: %s, %ld\n", rank, what, n);
	}
}

static unsigned char byte(long i, int from) { return (unsigned char)(i * 31 + i / 251 + from * 97); }

static void messages(void)
{
	int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
	for (long n = 0; n <= 4 << 20; n = n ? n * 7 + 1 : 1) {
		unsigned char *out = malloc(n + 1), *in = calloc(1, n + 1);
		MPI_Status st;
		int got, same = 1;
		for (long i = 0; i < n; i++)
			out[i] = byte(i, rank);
		MPI_Sendrecv(out, n, MPI_BYTE, to, 1, in, n, MPI_BYTE, from, 1, MPI_COMM_WORLD, &st);
		MPI_Get_count(&st, MPI_BYTE, &got);
		for (long i = 0; i < n && same; i++)
			same = in[i] == byte(i, from);
		check(got == n && same, "a message", n);
		free(out);
		free(in);
	}
}

static void flood(void)
{
	enum { N = 300 };
	static int out[N], in[N];
	MPI_Request r[2 * N];
	int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
	for (int i = 0; i < N; i++) {
		out[i] = i * 1000 + rank;
		MPI_Irecv(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &r[i]);
	}
	for (int i = N; i-- > 0;)
		MPI_Isend(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &r[N + i]);
	for (int i = 0; i < 2 * N; i++)
		MPI_Wait(&r[i], MPI_STATUS_IGNORE);
	for (int i = 0; i < N; i++)
		check(in[i] == i * 1000 + from, "one of many messages", i);
}

static void collectives(void)
{
	for (long n = 1; n <= 100000; n *= 10) {
		double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
		for (long i = 0; i < n; i++)
			a[i] = i + rank;
		MPI_Allreduce(a, b, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (long i = 0; i < n; i++)
			if (b[i] != (double)i * ranks + ranks * (ranks - 1) / 2) {
				check(0, "MPI_Allreduce", i);
				break;
			}
		free(a);
		free(b);
		int *x = malloc(n * ranks * sizeof *x), *y = malloc(n * ranks * sizeof *y);
		for (long i = 0; i < n * ranks; i++)
			x[i] = rank * 1000003 + i;
		MPI_Alltoall(x, n, MPI_INT, y, n, MPI_INT, MPI_COMM_WORLD);
		for (long i = 0; i < n * ranks; i++)
			if (y[i] != i / n * 1000003 + rank * n + i % n) {
				check(0, "MPI_Alltoall", i);
				break;
			}
		if (rank == 0)
			memset(x, 7, n * sizeof *x);
		MPI_Bcast(x, n, MPI_INT, 0, MPI_COMM_WORLD);
		check(x[n - 1] == 0x07070707, "MPI_Bcast", n);
		free(x);
		free(y);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

static void onesided(void)
{
	enum { N = 65536 };
	int *mem, one = 1, old, n, to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
	static int out[N], in[N];
	MPI_Win win;
	MPI_Win_allocate(2 * N * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
	memset(mem, 0, 2 * N * sizeof *mem);
	MPI_Win_fence(0, win);
	for (int i = 0; i < N; i++)
		out[i] = rank * 7 + i;
	MPI_Put(out, N, MPI_INT, to, 0, N, MPI_INT, win);
	MPI_Win_fence(0, win);
	check(mem[0] == from * 7 && mem[N - 1] == from * 7 + N - 1, "MPI_Put", mem[N - 1]);
	MPI_Get(in, N, MPI_INT, to, 0, N, MPI_INT, win);
	MPI_Win_fence(0, win);
	check(in[0] == rank * 7 && in[N - 1] == rank * 7 + N - 1, "MPI_Get", in[N - 1]);
	for (int i = 0; i < 50; i++) { /* a counter and a lock at rank 0 */
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		MPI_Fetch_and_op(&one, &old, MPI_INT, 0, N, MPI_SUM, win);
		MPI_Win_unlock(0, win);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Get(&n, 1, MPI_INT, 0, N + 1, 1, MPI_INT, win);
		MPI_Win_flush(0, win);
		n++;
		MPI_Put(&n, 1, MPI_INT, 0, N + 1, 1, MPI_INT, win);
		MPI_Win_unlock(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Get(in, 2, MPI_INT, 0, N, 2, MPI_INT, win);
	MPI_Win_unlock(0, win);
	check(in[0] == 50 * ranks, "MPI_Fetch_and_op", in[0]);
	check(in[1] == 50 * ranks, "MPI_LOCK_EXCLUSIVE", in[1]);
	MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
	int sum;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	messages();
	flood();
	collectives();
	onesided();
	MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0 && sum == 0)
		puts("GOOD");
	MPI_Finalize();
	return sum != 0;
}
