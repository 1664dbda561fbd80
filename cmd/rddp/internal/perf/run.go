package perf

import (
	"context"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Run makes the measurements in the options and returns the results. It calls o.Complete. If it
// fails during the measurements, for example because ctx is done, it also returns the results of
// the completed rounds, in an Incomplete Report.
func Run(ctx context.Context, o *Options) (r *Report, err error) {
	if err := o.Complete(); err != nil {
		return nil, err
	}
	r = newReport(o)
	if o.OneCPU {
		cpu, unpin, err := pin(o.CPU)
		if err != nil {
			return nil, err
		}
		defer unpin()
		r.CPU = cpu
	}
	if o.Cold {
		r.Cold = measureCold()
	}
	m := &meter{o: o, total: o.runs()}
	if !o.OneCPU && !o.NoGate {
		m.cpus.measure = lineTime
	}
	for _, conns := range o.Conns {
		var results []Result
		var idles []Idle
		results, idles, err = m.run(ctx, conns)
		r.Results, r.Idles = append(r.Results, results...), append(r.Idles, idles...)
		if err != nil {
			r.Incomplete = true
			break
		}
	}
	r.Repeated, r.LineNS = m.repeated, float64(m.cpus.best.Nanoseconds())
	return r, err
}

// run measures everything with one number of connections. On an error, the results are those of the
// completed rounds.
func (m *meter) run(ctx context.Context, conns int) (results []Result, idles []Idle, err error) {
	if m.client, err = connect(ctx, m.o, conns); err != nil {
		return nil, nil, err
	}
	defer m.close()
	m.series = nil
	if m.o.Scale {
		idles, err = m.scale(ctx)
	} else {
		err = m.groups(ctx)
	}
	for _, s := range m.series {
		if s.rounds == 0 {
			continue
		}
		r := s.result()
		r.Conns, r.Load, r.Rounds, r.ReadData = conns, m.o.Load, s.rounds, m.o.ReadData
		results = append(results, r)
	}
	return results, idles, err
}

// groups measures one size after another, with all kinds of connections open at once.
func (m *meter) groups(ctx context.Context) error {
	if err := m.checkFiles(m.o.lanes()); err != nil {
		return err
	}
	for _, size := range m.o.groups() {
		if err := m.group(ctx, size); err != nil {
			return err
		}
	}
	return nil
}

// A meter runs jobs, and collects their measurements in the order in which the results are printed.
type meter struct {
	*client
	o           *Options
	series      []*series
	done, total int
	cpus        distance
	repeated    int // rounds that were repeated because the CPUs were far apart
}

// A series is all runs of one job.
type series struct {
	job    job
	ends   []*end
	count  int // operations on each connection in one run
	rounds int // completed rounds; a reference has several runs in each
	runs   []run
	ratios []ratio // one for each round
	times  *hdrhistogram.Histogram
}

// A ratio compares a run with the run of its reference.
type ratio struct {
	rate float64 // more than 1 is faster than plain TCP; with pauses, of the median latencies
	cpu  float64 // processor time for each operation: less than 1 is cheaper; 0 if an operating system cannot tell
}

// to returns the ratio of r to ref.
func (r *run) to(ref *run) (q ratio) {
	if q.rate = r.rate() / ref.rate(); r.paused {
		q.rate = float64(ref.times.ValueAtQuantile(50)) / float64(max(r.times.ValueAtQuantile(50), 1))
	}
	if r.hasCPU && ref.hasCPU && ref.cpu() > 0 {
		q.cpu = r.cpu() / ref.cpu()
	}
	return q
}

// rate returns operations per second.
func (r *run) rate() float64 { return float64(r.ops) / r.elapsed.Seconds() }

// cpu returns the processor time of all processes for one operation, in microseconds.
func (r *run) cpu() float64 {
	return float64(r.here.plus(r.there).sum().Nanoseconds()) / 1e3 / float64(r.ops)
}

// runs returns the number of runs of all rounds, for Progress.
func (o *Options) runs() (n int) {
	if o.Scale {
		return len(slices.Concat(o.scaleJobs()...)) * o.Rounds * len(o.Conns)
	}
	for _, size := range o.groups() {
		jobs := o.jobs(size)
		for _, ref := range o.references(size, jobs) {
			n += len(order(ref, jobs))
		}
	}
	return n * o.Rounds * len(o.Conns)
}

// order returns the runs of one round for a reference: ref, and the jobs that are compared with it.
// Each job is next to a run of ref, so that both run under similar conditions.
func order(ref job, jobs []job) (runs []job) {
	n := 0
	for _, j := range jobs {
		if j.reference() != ref {
			continue
		}
		if runs = append(runs, j); n%2 == 0 {
			runs = append(runs, ref) // between this job and the next
		}
		n++
	}
	if n == 0 {
		return []job{ref}
	}
	return runs
}

// group measures all jobs of one size, in all rounds.
func (m *meter) group(ctx context.Context, size int) error {
	jobs := m.o.jobs(size)
	refs := m.o.references(size, jobs)
	m.leave(slices.Concat(refs, jobs))
	all := make(map[job]*series)
	for _, j := range slices.Concat(refs, jobs) {
		s := &series{job: j, times: newHistogram()}
		if err := m.prepare(ctx, s); err != nil {
			return &RunError{j.String(), err}
		}
		all[j] = s
		m.series = append(m.series, s)
	}
	return m.rounds(all, func(reverse bool) (enter func(), err error) {
		var outcomes []outcome
		for _, ref := range refs {
			runs := order(ref, jobs)
			if reverse {
				slices.Reverse(runs)
			}
			o, err := m.round(ctx, all, ref, runs)
			if err != nil {
				return nil, err
			}
			outcomes = append(outcomes, o...)
		}
		return func() {
			for _, o := range outcomes {
				o.enter()
			}
		}, nil
	})
}

// rounds calls round for each round, and then enter to record its measurements. Every second round
// is in reverse, so that no job always runs later than another. A round in which the CPUs were far
// apart is repeated; the number of repetitions is at most the number of rounds.
func (m *meter) rounds(all map[job]*series, round func(reverse bool) (enter func(), err error)) error {
	spare := m.o.Rounds
	for n := 0; n < m.o.Rounds; n++ {
		near, done := m.cpus.near(), m.done
		enter, err := round(n%2 == 1)
		if err != nil {
			return err
		}
		if near = m.cpus.near() && near; !near && spare > 0 {
			spare--
			n--
			m.repeated++
			m.done = done
			continue
		}
		enter()
		for _, s := range all {
			s.rounds++
		}
	}
	return nil
}

// An outcome is a run of a series in a round that may have to be repeated.
type outcome struct {
	series *series
	run    run
	ratio  *ratio // nil for the reference
}

func (o outcome) enter() {
	s := o.series
	s.runs = append(s.runs, o.run)
	s.times.Merge(o.run.times)
	if o.ratio != nil {
		s.ratios = append(s.ratios, *o.ratio)
	}
}

// prepare opens the connections of a series and determines the number of operations in a run.
func (m *meter) prepare(ctx context.Context, s *series) (err error) {
	if s.ends, err = m.lane(ctx, s.job); err != nil {
		return err
	}
	m.progress("calibrating " + s.job.String())
	s.count, err = m.calibrate(ctx, s.job, s.ends)
	return err
}

func (m *meter) progress(what string) {
	if m.o.Progress != nil {
		m.o.Progress(m.done, m.total, what)
	}
}

// round runs the jobs of one round in order. The ratio of a job is relative to the adjacent run of
// ref.
func (m *meter) round(ctx context.Context, all map[job]*series, ref job, runs []job) (outcomes []outcome, err error) {
	for _, j := range runs {
		m.progress(j.String())
		s := all[j]
		r, err := m.measure(ctx, j, s.ends, s.count)
		if err != nil {
			return nil, &RunError{j.String(), err}
		}
		m.done++
		outcomes = append(outcomes, outcome{series: s, run: r})
	}
	for i, j := range runs {
		if j != ref {
			q := outcomes[i].run.to(&outcomes[nearest(runs, ref, i)].run)
			outcomes[i].ratio = &q
		}
	}
	return outcomes, nil
}

// nearest returns the index of the run of ref that is nearest to run i.
func nearest(runs []job, ref job, i int) int {
	for d := range len(runs) {
		for _, at := range []int{i - d, i + d} {
			if at >= 0 && at < len(runs) && runs[at] == ref {
				return at
			}
		}
	}
	panic("BUG: a round without its reference")
}

// result returns the medians over the rounds.
func (s *series) result() Result {
	of := func(f func(*run) float64) []float64 {
		values := make([]float64, len(s.runs))
		for i := range s.runs {
			values[i] = f(&s.runs[i])
		}
		return values
	}
	var rates, costs []float64
	for _, q := range s.ratios {
		rates = append(rates, q.rate)
		if q.cpu > 0 {
			costs = append(costs, q.cpu)
		}
	}
	r := Result{
		Op: s.job.name, Size: s.job.size, Depth: s.job.depth, Post: s.job.post(), Pause: s.job.pause,
		Seconds:           median(of(func(r *run) float64 { return r.elapsed.Seconds() })),
		MsgsPerS:          median(of((*run).rate)),
		MsgsSpread:        spread(of((*run).rate)),
		Lat:               latencyOf(s.times),
		RatioToTCP:        median(rates),
		RatioSpread:       spread(rates),
		RatioQuartiles:    quartiles(rates),
		CPURatioToTCP:     median(costs),
		CPURatioSpread:    spread(costs),
		CPURatioQuartiles: quartiles(costs),
	}
	r.BytesPerS = r.MsgsPerS * float64(s.job.size)
	if s.job.over != overTCP {
		r.CRC = onOff(s.job.crc)
		r.Reference = s.job.reference().name
	}
	if slices.ContainsFunc(s.runs, func(r run) bool { return !r.hasCPU }) {
		return r
	}
	r.CPUPerOp = median(of((*run).cpu))
	r.CPUPerGB = r.CPUPerOp / float64(s.job.size) * 1e3
	var here, there cpuTime
	ops := 0
	for _, v := range s.runs {
		here, there, ops = here.plus(v.here), there.plus(v.there), ops+v.ops
	}
	r.CPUHere, r.CPUThere = here.per(ops), there.per(ops)
	return r
}
