"""What a store saves whoever looks at the protein only, after Deng et al. 2021 (ADA).

ADA: doi:10.1145/3472456.3473509; its figures 7a to 7c, and the frames that fit into memory.
"""
